#include "config/parse.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace fanlight {

namespace {

template <class Number>
std::optional<Number> whole(std::string_view text) {
    Number number{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return number;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
    return whole<std::int64_t>(text);
}

std::optional<std::int64_t> parse_count(std::string_view text) {
    const auto number = parse_integer(text);
    return number && *number >= 0 ? number : std::nullopt;
}

std::optional<std::size_t> parse_bytes(std::string_view text) {
    std::size_t factor = 1;
    if (!text.empty()) {
        switch (text.back()) {
            case 'k': case 'K': factor = std::size_t{1} << 10; break;
            case 'm': case 'M': factor = std::size_t{1} << 20; break;
            case 'g': case 'G': factor = std::size_t{1} << 30; break;
            default: break;
        }
        if (factor > 1) text.remove_suffix(1);
    }
    const auto number = whole<std::size_t>(text);
    if (!number || *number > std::numeric_limits<std::size_t>::max() / factor) return std::nullopt;
    return *number * factor;
}

std::optional<double> parse_seconds(std::string_view text) {
    const auto number = whole<double>(text);
    if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
    return number;
}

std::optional<bool> parse_boolean(std::string_view text) {
    if (text == "1" || text == "yes" || text == "true" || text == "on") return true;
    if (text == "0" || text == "no" || text == "false" || text == "off") return false;
    return std::nullopt;
}

}  // namespace fanlight
