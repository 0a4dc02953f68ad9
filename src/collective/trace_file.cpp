#include "collective/trace_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "collective/gathering.h"
#include "collective/hooks.h"
#include "collective/library.h"
#include "collective/report.h"
#include "config/config.h"

namespace fanlight::trace_file {

void Events::add(const Event& event) {
    constexpr std::size_t block = 4096;
    if (static_cast<std::int64_t>(kept_) >= config().trace_events) {
        ++left_out_;
        return;
    }
    if (kept_++ % block == 0) blocks_.emplace_back().reserve(block);
    blocks_.back().push_back(event);
}

namespace {

// How far this rank's clock is ahead of the writer's: 0 where they may be one, as within a node.  No rank
// leaves a barrier before all others have entered it, so that each gives a bound on either side.
std::int64_t ahead_of(int writer, int rank, MPI_Comm all) {
    constexpr int barriers = 16;
    std::int64_t own[2 * barriers];
    for (int i = 0; i < barriers; ++i) {
        own[2 * i] = report::now_ns();
        mpi().Barrier(all);
        own[2 * i + 1] = report::now_ns();
    }
    std::int64_t theirs[2 * barriers];
    std::copy(std::begin(own), std::end(own), theirs);
    mpi().Bcast(theirs, sizeof theirs, MPI_BYTE, writer, all);
    if (rank == writer) return 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 2 * barriers; i += 2) {
        least = std::max(least, own[i] - theirs[i + 1]);
        most = std::min(most, own[i + 1] - theirs[i]);
    }
    return least <= 0 && most >= 0 ? 0 : least + (most - least) / 2;
}

// This rank's events as text, some at a time.
class Lines {
public:
    Lines(const std::vector<const Events*>& threads, int rank, std::int64_t zero_ns)
        : threads_(threads), rank_(rank), zero_ns_(zero_ns) {}

    std::string about_the_rank() const {
        char host[256] = "", line[512];
        ::gethostname(host, sizeof host - 1);
        std::snprintf(line, sizeof line,
                      ",\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\": {\"name\": \"rank %d on %s\"}}"
                      ",\n{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": %d, \"args\": {\"sort_index\": %d}}",
                      rank_, rank_, host, rank_, rank_);
        return line;
    }

    // The next ones, of about so many bytes; empty: there are no more.
    std::string next(std::size_t bytes) {
        std::string text;
        for (; thread_ < threads_.size(); ++thread_, block_ = 0)
            for (const auto& blocks = threads_[thread_]->blocks(); block_ < blocks.size(); ++block_, event_ = 0)
                for (; event_ < blocks[block_].size(); ++event_) {
                    if (text.size() >= bytes) return text;
                    append(text, blocks[block_][event_]);
                }
        return text;
    }

private:
    void append(std::string& text, const Event& e) const {
        char line[512];
        std::snprintf(line, sizeof line,
                      ",\n{\"ph\": \"X\", \"pid\": %d, \"tid\": %zu, \"ts\": %.3f, \"dur\": %.3f, ", rank_, thread_,
                      static_cast<double>(e.begun_ns - zero_ns_) * 1e-3, static_cast<double>(e.ns) * 1e-3);
        text += line;
        if (!e.operation) {
            const std::string peer = e.peer < 0 ? "others" : "rank " + std::to_string(e.peer);
            std::snprintf(line, sizeof line, "\"cat\": \"wait\", \"name\": \"waits for %s\", \"args\": {\"for\": %d}}", peer.c_str(), e.peer);
            text += line;
            return;
        }
        const bool served = *e.algorithm != 0;
        std::snprintf(line, sizeof line, "\"cat\": \"collective\", \"name\": \"%s\", \"args\": {\"bytes\": %zu, \"by\": \"%s\", ",
                      e.operation, e.bytes, served ? "fanlight" : "mpi");
        text += line;
        // As long as they like: the algorithm of each level has a name in it.
        if (served) text.append("\"algorithm\": \"").append(e.algorithm).append("\", \"transport\": \"").append(e.transport);
        else text.append("\"reason\": \"").append(to_string(e.reason));
        text += "\"}}";
    }

    const std::vector<const Events*>& threads_;
    const int rank_;
    const std::int64_t zero_ns_;
    std::size_t thread_ = 0, block_ = 0, event_ = 0;
};

}  // namespace

void write(const std::string& file, const std::vector<const Events*>& threads, std::int64_t process_started_ns, MPI_Comm all) {
    const Library& m = mpi();
    int rank = 0, ranks = 0, world_rank = 0;
    m.Comm_rank(MPI_COMM_WORLD, &world_rank);
    m.Comm_rank(all, &rank);
    m.Comm_size(all, &ranks);
    const int writer = writer_of(file, all);
    const std::int64_t ahead = ahead_of(writer, rank, all);
    // The first rank's start is zero.
    std::int64_t started = process_started_ns - ahead, first = 0;
    m.Allreduce(&started, &first, 1, MPI_INT64_T, MPI_MIN, all);
    std::uint64_t own_left_out = 0, left_out = 0;
    for (const Events* t : threads) own_left_out += t->left_out();
    m.Allreduce(&own_left_out, &left_out, 1, MPI_UINT64_T, MPI_SUM, all);

    std::FILE* out = nullptr;
    const std::string name = rank == writer ? name_in_this_job(file, all) : "";
    bool written = true;
    const auto put = [&](const std::string& text) {
        if (rank == writer && written) written = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    };
    if (rank == writer) out = std::fopen(name.c_str(), "w");
    put("{\"displayTimeUnit\": \"ns\", \"otherData\": {\"fanlight_trace\": 1, \"ranks\": " + std::to_string(ranks) +
        ", \"left_out\": " + std::to_string(left_out) + ", \"mpi\": \"" + library_version() + "\"},\n\"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"fanlight\", \"pid\": " +
        std::to_string(world_rank) + ", \"args\": {}}");
    Lines lines(threads, world_rank, first + ahead);
    put(gathered_text(lines.about_the_rank(), writer, all));
    // All ranks' text together may be longer than memory, and than an int.
    const std::size_t part = std::clamp<std::size_t>((std::size_t{64} << 20) / static_cast<std::size_t>(ranks), 4096, 1 << 20);
    for (int more = 1; more;) {
        const std::string own = lines.next(part);
        const int mine = !own.empty();
        m.Allreduce(&mine, &more, 1, MPI_INT, MPI_MAX, all);
        if (more) put(gathered_text(own, writer, all));
    }
    put("\n]}\n");
    if (rank != writer) return;
    if (out && std::fclose(out) != 0) written = false;
    if (!written) say("the trace: cannot write " + name + ": " + std::strerror(errno));
    if (left_out)
        say("the trace: " + std::to_string(left_out) + " calls and waits more than it may keep (FANLIGHT_TRACE_EVENTS)");
}

}  // namespace fanlight::trace_file
