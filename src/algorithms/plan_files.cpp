#include "algorithms/plan_files.h"

#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>

#include "schedule/saved_plan.h"

namespace fanlight {

namespace {

struct File {
    File(std::string_view path, std::string_view text) : name("file(" + std::string(path) + ")"), plan(text) {}

    const std::string name;
    const SavedPlan plan;
    std::string description;
    Algorithm algorithm{};
};

struct Files {
    std::mutex mutex;
    std::deque<File> all;  // the first has number 1
};

// Never destroyed, as the catalogue is not.
Files& files() {
    static Files& f = *new Files;
    return f;
}

const File& numbered(std::uint32_t number) {
    Files& f = files();
    const std::scoped_lock lock(f.mutex);
    return f.all[number - 1];
}

std::string contents(const std::string& path) {
    constexpr std::uintmax_t longest = std::uintmax_t{1} << 28;
    std::error_code problem;
    if (std::filesystem::is_directory(path, problem)) throw std::invalid_argument("it is a directory");
    const std::uintmax_t size = std::filesystem::file_size(path, problem);
    if (problem) throw std::invalid_argument(problem.message());
    if (size > longest) throw std::invalid_argument("it is longer than any plan");
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::invalid_argument(std::strerror(errno));
    return {std::istreambuf_iterator<char>(in), {}};
}

Schedule by_plan(const Problem& problem) {
    return numbered(problem.parameters.plan).plan.schedule(problem);
}

}  // namespace

const Algorithm& algorithm_of_file(Operation operation, std::string_view path) {
    Files& f = files();
    const std::string file(path);
    try {
        const std::scoped_lock lock(f.mutex);
        const std::string name = "file(" + file + ")";
        const File* found = nullptr;
        for (const File& one : f.all)
            if (one.name == name) found = &one;
        if (!found) {
            File& made = f.all.emplace_back(path, contents(file));
            const SavedPlan& plan = made.plan;
            made.description = (plan.name().empty() ? std::string() : plan.name() + ", ") + "a saved plan with the hash " + plan.hash();
            // `levels`: it may depend on the topology, and on several nodes it runs among all ranks.
            const unsigned properties = property::levels | (plan.commutative() ? property::commutative : property::none) |
                                        (plan.pipelined() ? property::pipelined : property::none);
            made.algorithm = {.operation = plan.operation(), .name = made.name, .schedule = by_plan, .properties = properties, .parameters = {},
                              .description = made.description, .paper = {}, .plan = static_cast<std::uint32_t>(f.all.size())};
            if (family_of(plan.operation()) != Family::signal) made.algorithm.parameters = {"piece"};
            found = &made;
        }
        if (found->algorithm.operation != operation)
            throw std::invalid_argument("it is a plan for " + std::string(to_string(found->algorithm.operation)) + " and not for " + std::string(to_string(operation)));
        return found->algorithm;
    } catch (const std::invalid_argument& e) {
        throw std::invalid_argument("the plan " + file + ": " + e.what());
    }
}

const Algorithm* find_algorithm_of_file(Operation operation, std::string_view name) {
    Files& f = files();
    const std::scoped_lock lock(f.mutex);
    for (const File& one : f.all)
        if (one.name == name && one.algorithm.operation == operation) return &one.algorithm;
    return nullptr;
}

std::string restriction_of_file(std::uint32_t plan, const Problem& problem) {
    const File& file = numbered(plan);
    const std::string why = file.plan.restriction(problem);
    return why.empty() ? why : file.name + ": " + why;
}

std::string_view hash_of_file(std::uint32_t plan) { return numbered(plan).plan.hash(); }

}  // namespace fanlight
