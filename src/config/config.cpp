#include "config/config.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "config/parse.h"

namespace fanlight {

namespace {

std::optional<std::string> parse_text(std::string_view text) { return std::string(text); }

// What the program has set by itself, before anything asked for it.
struct Set {
    std::mutex mutex;
    std::map<std::string_view, std::string> texts;  // by the variable
    bool too_late = false;
};
Set& set_here() {
    static Set& s = *new Set;
    return s;
}

// With the mutex.
const char* text_of_variable(const char* variable) {
    const auto& texts = set_here().texts;
    if (const auto it = texts.find(variable); it != texts.end()) return it->second.c_str();
    // A program with more rights than its user's takes no settings from that user: one of them names a file to write.
    return ::secure_getenv(variable);
}

// How a setting of a type is written.
template <class Value>
struct Form {
    std::optional<Value> (*parse)(std::string_view);
    const char* expected;
};
namespace form {
constexpr Form<bool> boolean{parse_boolean, "1 or 0 (or yes, no, true, false, on, off)"};
constexpr Form<std::int64_t> integer{parse_count, "a whole number that is not negative"};
constexpr Form<std::size_t> bytes{parse_bytes, "a number of bytes such as 4096, 64K or 1M"};
constexpr Form<double> seconds{parse_seconds, "a number of seconds that is not negative, such as 30 or 0.5"};
constexpr Form<std::string> text{parse_text, "text"};
}  // namespace form

template <class Value>
void read_one(const char* variable, Value& field, const Form<Value>& form, std::vector<std::string>& errors) {
    const char* text = text_of_variable(variable);
    if (!text || !*text) return;  // set to nothing is the same as not set
    if (auto value = form.parse(text)) {
        field = std::move(*value);
    } else {
        errors.push_back(std::string(variable) + "=" + text + ": expected " + form.expected);
    }
}

const char* variable_of(std::string_view field) {
    for (const Setting& s : settings())
        if (s.field == field) return s.variable.data();
    return "";
}

void one_of(std::string_view field, std::string& value, const std::string& otherwise,
            std::initializer_list<std::string_view> allowed, std::vector<std::string>& errors) {
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    std::string message = std::string(variable_of(field)) + "=" + value + ": expected one of";
    for (const std::string_view a : allowed) message.append(" ").append(a);
    errors.push_back(std::move(message));
    value = otherwise;
}

// Every value that is wrong is replaced by its default and described in `errors`.
Config read(std::vector<std::string>& errors) {
    Config c;
#define SETTING(field, type, variable, value, ranks, help) read_one(variable, c.field, form::type, errors);
#include "config/config.def"
#undef SETTING
    const Config defaults;
    one_of("wait", c.wait, defaults.wait, {"auto", "spin", "yield", "sleep"}, errors);
    one_of("single_copy", c.single_copy, defaults.single_copy, {"auto", "on", "off"}, errors);
    one_of("transport", c.transport, defaults.transport,
           {"auto", "shared", "message", "rma-fence", "rma-lock", "rma-flush"}, errors);
    one_of("rounding", c.rounding, defaults.rounding, {"own", "nodes", "mpi"}, errors);
    one_of("guard", c.guard, defaults.guard, {"on", "off", "record"}, errors);
    one_of("gpu", c.gpu, defaults.gpu, {"pass", "stage", "none"}, errors);
    if (parse_boolean(c.heap) == false) c.heap = "off";
    one_of("heap", c.heap, defaults.heap, {"auto", "shared", "off"}, errors);
    // The MPI library may take none.
    if (c.gpu == "stage") c.start_after = 0;
    return c;
}

std::string text_of(bool value) { return value ? "1" : "0"; }
std::string text_of(const std::string& value) { return value; }
template <class Number>
std::string text_of(Number value) { return std::to_string(value); }

// The number of letters to insert, delete or replace (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

std::span<const Setting> settings() {
    // The defaults as they stand in config.def, texts without their quotes.
    static constexpr auto unquoted = [](std::string_view s) {
        return s.size() >= 2 && s.front() == '"' ? s.substr(1, s.size() - 2) : s;
    };
    static const Setting all[] = {
#define SETTING(field, type, variable, value, ranks, help) \
    {#field, #type, variable, unquoted(#value), help, std::string_view(#ranks) == "same", \
     [](const Config& c) { return text_of(c.field); }},
#include "config/config.def"
#undef SETTING
    };
    return all;
}

Config read_config() {
    std::vector<std::string> errors;
    const std::scoped_lock lock(set_here().mutex);
    Config c = read(errors);
    if (!errors.empty()) throw std::invalid_argument(errors.front());
    return c;
}

Config present_config() {
    {
        const std::scoped_lock lock(set_here().mutex);
        std::vector<std::string> errors;
        if (!set_here().too_late) return read(errors);
    }
    return config();
}

bool set(const Setting& setting, const std::string& text) {
    Set& s = set_here();
    const std::scoped_lock lock(s.mutex);
    if (s.too_late) return false;
    const auto before = s.texts;
    s.texts[setting.variable] = text;
    std::vector<std::string> errors;
    read(errors);
    for (const std::string& e : errors)
        if (e.starts_with(std::string(setting.variable) + "=")) {
            s.texts = before;
            throw std::invalid_argument(e);
        }
    return true;
}

std::vector<std::string> unknown_variables() {
    constexpr std::string_view prefix = "FANLIGHT_";
    std::vector<std::string> warnings;
    for (char** entry = environ; entry && *entry; ++entry) {
        std::string_view name = *entry;
        name = name.substr(0, name.find('='));
        if (!name.starts_with(prefix)) continue;
        const Setting* nearest = nullptr;
        std::size_t best = 0;
        for (const Setting& s : settings()) {
            const std::size_t d = distance(name, s.variable);
            if (!nearest || d < best) nearest = &s, best = d;
        }
        if (best == 0) continue;
        std::string warning = std::string(name) + " is not a setting";
        // A far name would only mislead.
        if (best <= std::max<std::size_t>(2, (name.size() - prefix.size()) / 3))
            warning.append(" (do you mean ").append(nearest->variable).append("?)");
        warnings.push_back(warning + "; `fanlight info` lists all settings");
    }
    return warnings;
}

bool speaks_for_all() {
    for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
        if (const char* rank = std::getenv(variable)) return std::string_view(rank) == "0";
    return true;
}

const Config& config() {
    // Never destroyed: what is called while static objects are looks at it as well.
    static const Config& c = *[] {
        std::vector<std::string> errors;
        const std::scoped_lock lock(set_here().mutex);
        set_here().too_late = true;
        auto* const read_ = new Config(read(errors));
        if (!speaks_for_all()) return read_;
        for (const std::string& e : errors)
            std::fprintf(stderr, "fanlight: %s; its default is used\n", e.c_str());
        for (const std::string& w : unknown_variables())
            std::fprintf(stderr, "fanlight: %s\n", w.c_str());
        return read_;
    }();
    return c;
}

}  // namespace fanlight
