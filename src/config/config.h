// The settings, read from the environment once, at first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fanlight {

struct Config {
    using boolean = bool;
    using integer = std::int64_t;
    using bytes = std::size_t;
    using seconds = double;
    using text = std::string;
#define SETTING(field, type, variable, value, ranks, help) type field = value;
#include "config/config.def"
#undef SETTING
};

// Throws std::invalid_argument, naming the variable, its value and what is allowed.
Config read_config();
// Read once; a wrong value is said on standard error and its default is used.
const Config& config();
// Whether this process says what one of a job's is to say: by what the launchers tell those that they
// start; one that was started alone speaks too.
bool speaks_for_all();

struct Setting {
    std::string_view field, type, variable, default_text, help;
    bool same;                            // all ranks of a communicator must have the same value
    std::string (*value)(const Config&);  // as text
};
std::span<const Setting> settings();

// The settings as they would be read now, a wrong one as its default; after the first config() as they were read.
Config present_config();
// As the variable in the environment would, which stays as it is.  False where it is too late: config() has been called.
// Throws std::invalid_argument, which says what is allowed.
bool set(const Setting&, const std::string& text);

// A line for each FANLIGHT_* variable in the environment that is not a setting, with the setting
// whose name is nearest.  config() says them on standard error.
std::vector<std::string> unknown_variables();

}  // namespace fanlight
