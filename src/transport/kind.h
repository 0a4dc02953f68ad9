// The transports by name.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fanlight {

enum class Transport : std::uint8_t { shared, message, rma_fence, rma_lock, rma_flush };

inline constexpr std::array<std::string_view, 5> transport_names{"shared", "message", "rma-fence", "rma-lock",
                                                                 "rma-flush"};

inline std::string_view to_string(Transport t) { return transport_names[static_cast<std::size_t>(t)]; }

// Throws std::invalid_argument, naming those that exist.
inline Transport transport_from(std::string_view name) {
    std::string list;
    for (std::size_t i = 0; i < transport_names.size(); ++i) {
        if (transport_names[i] == name) return static_cast<Transport>(i);
        list.append(i ? ", " : "").append(transport_names[i]);
    }
    throw std::invalid_argument("unknown transport '" + std::string(name) + "'; there are " + list);
}

}  // namespace fanlight
