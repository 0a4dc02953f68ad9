// Numbers as users write them, for settings and for selection rules alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fanlight {

// A whole number, nothing before or behind it.
std::optional<std::int64_t> parse_integer(std::string_view);
// One that is not negative.
std::optional<std::int64_t> parse_count(std::string_view);
// 4096, 64K, 1M, 2G: powers of 1024.
std::optional<std::size_t> parse_bytes(std::string_view);
// 30 or 0.5; not negative.
std::optional<double> parse_seconds(std::string_view);
// 1, yes, true, on; 0, no, false, off.
std::optional<bool> parse_boolean(std::string_view);

}  // namespace fanlight
