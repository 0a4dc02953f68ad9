#include "collective/report.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "collective/call_counts.h"
#include "collective/gathering.h"
#include "collective/hooks.h"
#include "collective/library.h"
#include "collective/trace_file.h"
#include "config/config.h"
#include "execute/peer_memory.h"

namespace fanlight::report {

std::atomic<unsigned> wanted{unknown};

namespace {

std::atomic<unsigned> known_to_all{0};

// Who gathers what is wanted.
MPI_Comm all_for(unsigned what) { return (known_to_all & what) != 0 ? MPI_COMM_WORLD : MPI_COMM_SELF; }

const std::int64_t started = now_ns();

// As class_of says.
std::size_t class_begin(int c) { return c == 0 ? 0 : std::size_t{1} << 2 * (c - 1); }
std::size_t class_end(int c) { return c == 0 ? 0 : (std::size_t{1} << 2 * c) - 1; }

struct Row {
    std::string operation, algorithm, transport, reason;
    int size_class = 0;
    friend auto operator<=>(const Row&, const Row&) = default;
};
struct Sums {
    std::uint64_t calls = 0, bytes = 0;
    double seconds = 0, seconds_max = 0;
};

// Where it goes.
std::string& file() {
    static std::string& f = *new std::string(config().report);
    return f;
}

// --- from rank to rank: lines of text ------------------------------------------------------

std::string own_lines(int rank) {
    std::ostringstream out;
    out.precision(17);
    // No other thread is in a call of MPI's now: MPI_Finalize is the last.
    const std::scoped_lock lock(books().mutex);
    for (const Book& book : books().all)
        for (const auto& [key, counter] : book.calls) {
            const Count count = counter.now();
            out << "call\t" << key.operation << '\t' << key.algorithm << '\t' << key.transport << '\t' << to_string(key.reason)
                << '\t' << key.size_class << '\t' << count.calls << '\t' << count.bytes << '\t'
                << static_cast<double>(count.ns) * 1e-9 << '\n';
        }
    for (const auto& [key, count] : books().communicators)
        out << "communicator\t" << key.first << '\t' << to_string(key.second) << '\t' << count << '\n';
    for (const auto& [f, ratio] : books().found)
        out << "guard\t" << f.operation << '\t' << f.algorithm << '\t' << f.bytes_from << '\t' << f.bytes_to << '\t' << f.ranks << '\t'
            << f.nodes << '\t' << f.oversubscribed << '\t' << f.is_theirs << '\t' << f.applied << '\t' << ratio << '\n';
    std::map<int, Count> waits;
    double seconds = 0;
    for (const Book& book : books().all) {
        for (const auto& [peer, count] : book.waits) add(waits[peer], count);
        for (const auto& [key, counter] : book.calls) seconds += static_cast<double>(counter.now().ns) * 1e-9;
    }
    // Of the peers those for which it waited longest: all of them would be as many lines as there are pairs of ranks.
    std::vector<std::pair<int, Count>> longest(waits.begin(), waits.end());
    std::ranges::sort(longest, std::ranges::greater(), [](const auto& wait) { return wait.second.ns; });
    Count all;
    for (const auto& [peer, count] : longest) add(all, count);
    longest.resize(std::min<std::size_t>(longest.size(), 8));
    out << "rank\t" << rank << '\t' << seconds << '\t' << messages_lent.load() << '\t' << all.calls << '\t' << static_cast<double>(all.ns) * 1e-9 << '\n';
    for (const auto& [peer, count] : longest)
        out << "wait\t" << rank << '\t' << peer << '\t' << count.calls << '\t' << static_cast<double>(count.ns) * 1e-9 << '\n';
    out << "run\t" << static_cast<double>(now_ns() - started) * 1e-9 << '\n';
    return out.str();
}

struct Wait {
    int peer = -1;
    std::uint64_t waits = 0;
    double seconds = 0;
};
struct Rank {
    double seconds = 0;
    std::uint64_t lent = 0;
    Wait all;
    std::vector<Wait> longest;
};
// By what stands before the ratio.
struct Ratios {
    std::uint64_t communicators = 0;
    double sum = 0;
};
struct Whole {
    int ranks = 0, alone = -1;  // the rank that reports alone
    double seconds = 0;
    std::map<Row, Sums> calls;
    std::map<std::pair<int, std::string>, std::uint64_t> communicators;  // seen by their ranks
    std::vector<Rank> by_rank;
    std::map<std::vector<std::string>, Ratios> found;
};

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts(1);
    for (const char c : text)
        if (c == at) parts.emplace_back();
        else parts.back() += c;
    return parts;
}

void add_lines(Whole& whole, const std::string& lines) {
    for (const std::string& line : split(lines, '\n')) {
        const std::vector<std::string> f = split(line, '\t');
        if (f[0] == "run" && f.size() == 2) {
            whole.seconds = std::max(whole.seconds, std::stod(f[1]));
        } else if (f[0] == "communicator" && f.size() == 4) {
            whole.communicators[{std::stoi(f[1]), f[2]}] += std::stoull(f[3]);
        } else if (f[0] == "rank" && f.size() == 6) {
            Rank& rank = whole.by_rank.at(std::stoul(f[1]));
            rank.seconds = std::stod(f[2]);
            rank.lent = std::stoull(f[3]);
            rank.all = {-1, std::stoull(f[4]), std::stod(f[5])};
        } else if (f[0] == "wait" && f.size() == 5) {
            whole.by_rank.at(std::stoul(f[1])).longest.push_back({std::stoi(f[2]), std::stoull(f[3]), std::stod(f[4])});
        } else if (f[0] == "guard" && f.size() == 11) {
            Ratios& r = whole.found[{f.begin() + 1, f.end() - 1}];
            ++r.communicators;
            r.sum += std::stod(f.back());
        } else if (f[0] == "call" && f.size() == 9) {
            Sums& s = whole.calls[{f[1], f[2], f[3], f[4], std::stoi(f[5])}];
            s.calls += std::stoull(f[6]);
            s.bytes += std::stoull(f[7]);
            const double seconds = std::stod(f[8]);
            s.seconds += seconds;
            s.seconds_max = std::max(s.seconds_max, seconds);
        }
    }
}

// On rank `writer`; elsewhere it is empty.
Whole gathered(int rank, int writer, MPI_Comm all) {
    Whole whole;
    mpi().Comm_size(all, &whole.ranks);
    if (all == MPI_COMM_SELF) mpi().Comm_rank(MPI_COMM_WORLD, &whole.alone);
    whole.by_rank.resize(static_cast<std::size_t>(whole.ranks));
    add_lines(whole, gathered_text(own_lines(rank), writer, all));
    return whole;
}

// --- what the user gets ----------------------------------------------------------------------

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
    return out + '"';
}

// Communicators are counted by each of their ranks.
std::uint64_t number(int ranks, std::uint64_t seen) { return seen / static_cast<std::uint64_t>(std::max(ranks, 1)); }

// The entries of a list of JSON's, with `before` each.
template <typename All, typename Print>
void list(std::ostream& out, const char* before, const All& all, const Print& print) {
    const char* comma = "";
    for (const auto& one : all) {
        out << comma << before;
        print(one);
        comma = ",";
    }
}

std::string json(const Whole& whole) {
    std::ostringstream out;
    out << "{\"fanlight_report\": 1,\n \"mpi\": " << quoted(library_version()) << ",\n \"ranks\": " << whole.ranks;
    if (whole.alone >= 0) out << ",\n \"rank\": " << whole.alone;
    out << ",\n \"seconds\": " << whole.seconds << ",\n \"communicators\": [";
    list(out, "\n  ", whole.communicators, [&](const auto& entry) {
        const auto& [ranks, reason] = entry.first;
        out << "{\"ranks\": " << ranks << ", \"count\": " << number(ranks, entry.second)
            << ", \"served\": " << (reason.empty() ? "true" : "false") << ", \"reason\": " << quoted(reason) << "}";
    });
    out << "],\n \"calls\": [";
    list(out, "\n  ", whole.calls, [&](const auto& entry) {
        const auto& [row, sums] = entry;
        out << "{\"operation\": " << quoted(row.operation) << ", \"bytes_from\": " << class_begin(row.size_class)
            << ", \"bytes_to\": " << class_end(row.size_class) << ", \"by\": "
            << (row.algorithm.empty() ? "\"mpi\"" : "\"fanlight\"") << ", \"algorithm\": " << quoted(row.algorithm)
            << ", \"transport\": " << quoted(row.transport) << ", \"reason\": " << quoted(row.reason) << ", \"calls\": " << sums.calls << ", \"bytes\": " << sums.bytes
            << ", \"seconds\": " << sums.seconds << ", \"seconds_max\": " << sums.seconds_max << "}";
    });
    out << "],\n \"by_rank\": [";
    list(out, "\n  ", whole.by_rank, [&](const Rank& rank) {
        out << "{\"seconds\": " << rank.seconds << ", \"lent\": " << rank.lent << ", \"waits\": " << rank.all.waits << ", \"waited\": " << rank.all.seconds
            << ", \"for\": [";
        list(out, " ", rank.longest, [&](const Wait& w) {
            out << "{\"rank\": " << w.peer << ", \"waits\": " << w.waits << ", \"seconds\": " << w.seconds << "}";
        });
        out << "]}";
    });
    out << "],\n \"guard\": [";
    list(out, "\n  ", whole.found, [&](const auto& entry) {
        const auto& [f, ratios] = entry;
        const auto yes = [&](std::size_t i) { return f[i] == "1" ? "true" : "false"; };
        out << "{\"operation\": " << quoted(f[0]) << ", \"bytes_from\": " << f[2] << ", \"bytes_to\": "
            << (f[3] == std::to_string(~std::size_t{0}) ? "null" : f[3]) << ", \"ranks\": " << f[4] << ", \"nodes\": " << f[5]
            << ", \"mpi\": " << quoted(std::string(mpi_name())) << ", \"oversubscribed\": " << yes(6) << ", \"algorithm\": " << quoted(f[1])
            << ", \"faster\": " << (f[7] == "1" ? "\"mpi\"" : "\"fanlight\"") << ", \"applied\": " << yes(8)
            << ", \"ratio\": " << ratios.sum / static_cast<double>(ratios.communicators)
            << ", \"communicators\": " << ratios.communicators << "}";
    });
    out << "]}\n";
    return out.str();
}

std::string table(const Whole& whole) {
    std::string out = "fanlight: collective calls of " + (whole.alone < 0 ? std::to_string(whole.ranks) + " ranks (sums over all)" : "rank " + std::to_string(whole.alone) + " alone") + "\n";
    char line[256];
    std::snprintf(line, sizeof line, "  %-22s %12s %12s %12s %14s  %s\n", "operation", "bytes from", "calls", "seconds",
                  "us per call", "by");
    out += line;
    for (const auto& [row, sums] : whole.calls) {
        const std::string by = row.algorithm.empty() ? "MPI: " + row.reason : row.algorithm + " over " + row.transport;
        std::snprintf(line, sizeof line, "  %-22s %12zu %12llu %12.4f %14.2f  %s\n", row.operation.c_str(),
                      class_begin(row.size_class), static_cast<unsigned long long>(sums.calls), sums.seconds,
                      sums.calls ? sums.seconds / static_cast<double>(sums.calls) * 1e6 : 0, by.c_str());
        out += line;
    }
    const std::string first_calls(to_string(Reason::few_calls));
    Sums first;
    for (const auto& [row, sums] : whole.calls)
        if (row.reason == first_calls) {
            first.calls += sums.calls;
            first.seconds += sums.seconds;
        }
    std::snprintf(line, sizeof line, "  first calls of communicators (FANLIGHT_START_AFTER=%lld): %llu, %.4f seconds in the MPI library\n",
                  static_cast<long long>(config().start_after), static_cast<unsigned long long>(first.calls), first.seconds);
    if (first.calls > 0) out += line;
    std::uint64_t lent = 0;
    for (const Rank& rank : whole.by_rank) lent += rank.lent;
    if (lent > 0) out += "  " + std::to_string(lent) + " long messages were read where they lay\n";
    for (const auto& [f, ratios] : whole.found) {
        if (f[7] != "1") continue;
        std::snprintf(line, sizeof line, "  guard: %s from %s bytes, %s ranks: the MPI library's own is faster than %s, %.2f times; %s\n", f[0].c_str(),
                      f[2].c_str(), f[4].c_str(), f[1].c_str(), ratios.sum / static_cast<double>(ratios.communicators), f[8] == "1" ? "it serves" : "not applied");
        out += line;
    }
    for (const auto& [key, seen] : whole.communicators) {
        const std::string why = key.second == first_calls ? "fewer calls than FANLIGHT_START_AFTER" : key.second;
        std::snprintf(line, sizeof line, "  %llu communicator(s) with %d ranks %s\n",
                      static_cast<unsigned long long>(number(key.first, seen)), key.first,
                      why.empty() ? "served by Fanlight" : ("left to the MPI library: " + why).c_str());
        out += line;
    }
    return out;
}

void put_to(const std::string& where, const Whole& whole) {
    const auto print = [&] {
        const std::string text = table(whole);
        std::fwrite(text.data(), 1, text.size(), stderr);
    };
    if (where == "-") return print();
    const std::string text = json(whole);
    std::FILE* file = std::fopen(where.c_str(), "w");
    bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file) written &= std::fclose(file) == 0;  // what is buffered until then
    const int error = errno;
    if (written) return;
    print();  // a long run may stand behind it
    throw std::runtime_error("the report: cannot write " + where + ": " + std::strerror(error));
}

// By all of `all`, which need not all name one.
void gather_into(const std::string& where, MPI_Comm all) {
    int rank = 0;
    mpi().Comm_rank(all, &rank);
    const int writer = writer_of(where, all);
    if (writer < 0) return;
    const Whole whole = gathered(rank, writer, all);
    if (rank == writer) put_to(where, whole);
}

}  // namespace

unsigned find_out() {
    wanted.fetch_or((config().report.empty() ? 0u : calls) | (config().trace.empty() ? 0u : trace), std::memory_order_relaxed);
    return wanted.fetch_and(~unknown, std::memory_order_relaxed) & ~unknown;
}

// Which does not read the settings: a tool may still change them.
void count_for_tools(bool wanted_by_any) {
    if (wanted_by_any) wanted.fetch_or(tools, std::memory_order_relaxed);
    else wanted.fetch_and(~tools, std::memory_order_relaxed);
}

void join(unsigned what, unsigned known) {
    on();
    known_to_all.fetch_or(known);
    wanted.fetch_or(what, std::memory_order_relaxed);
}

void begin(const char* name) {
    if (file().empty()) file() = name;
    join(file().empty() ? 0u : calls, calls);
}

std::int64_t now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * std::int64_t{1000000000} + t.tv_nsec;
}

void found(const Found& f, double ratio) {
    if (!on(calls)) return;
    const std::scoped_lock lock(books().mutex);
    books().found.emplace_back(f, ratio);
}

void communicator(int ranks, Reason reason) {
    if (!on(calls)) return;
    const std::scoped_lock lock(books().mutex);
    ++books().communicators[{ranks, reason}];
}

void write_now(const std::string& where) {
    join(calls, calls);
    gather_into(where, MPI_COMM_WORLD);
}

void write() {
    if (on(calls)) {
        try {
            gather_into(file().empty() ? file() : name_in_this_job(file(), all_for(calls)), all_for(calls));
        } catch (const std::runtime_error& e) {
            say(e.what());
        }
    }
    if (on(trace)) {
        std::vector<const trace_file::Events*> threads;
        for (const Book& book : books().all) threads.push_back(&book.events);
        trace_file::write(config().trace, threads, started, all_for(trace));
    }
}

}  // namespace fanlight::report
