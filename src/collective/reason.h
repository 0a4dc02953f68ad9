// Why a call goes to the MPI library.
#pragma once

#include <cstdint>

namespace fanlight {

enum class Reason : std::uint8_t {
#define REASON(name, text) name,
#include "collective/reasons.def"
#undef REASON
};

constexpr const char* to_string(Reason reason) {
    constexpr const char* texts[] = {
#define REASON(name, text) text,
#include "collective/reasons.def"
#undef REASON
    };
    return texts[static_cast<int>(reason)];
}

}  // namespace fanlight
