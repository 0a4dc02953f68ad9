// fanlight.hpp: each operation, in each of its three forms, and what it refuses.
#include <fanlight/fanlight.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define REQUIRE(condition)                                                                          \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            std::fprintf(stderr, "WRONG %s:%d: %s\n", __FILE__, __LINE__, #condition);              \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                           \
            std::_Exit(1);                                                                          \
        }                                                                                           \
    } while (0)

namespace {

struct Pair {
    int first, second;
};
MPI_Datatype pair_type;

}  // namespace

template <>
struct fanlight::Datatype<Pair> {
    static MPI_Datatype get() { return pair_type; }
};

namespace {

using fanlight::Communicator;
using fanlight::in_place;

static_assert(fanlight::Element<Pair> && fanlight::Element<const double> && !fanlight::Element<std::string>);
static_assert(fanlight::Input<const std::vector<int>&> && !fanlight::Output<const std::vector<int>&>);
static_assert(!std::copy_constructible<Communicator> && std::movable<Communicator> && std::movable<fanlight::Request>);

// Each operation by `way`, whose end `end` waits for.
template <class Way, class End>
void every_operation(const Communicator& world, const Way& way, End end) {
    const int rank = world.rank(), size = world.size(), root = size - 1;
    const auto n = static_cast<std::size_t>(size);
    const int sum_of_ranks = size * (size - 1) / 2;
    end([&] { return way.barrier(); });

    std::vector<int> told(3, rank == root ? 7 : -1);
    end([&] { return way.bcast(told, root); });
    REQUIRE(told == std::vector<int>(3, 7));

    const std::array<int, 2> mine{rank, 2 * rank};
    std::array<int, 2> got{-1, -1};
    end([&] { return way.reduce(mine, got, root); });
    if (rank == root) REQUIRE((got == std::array<int, 2>{sum_of_ranks, 2 * sum_of_ranks}));
    end([&] { return way.allreduce(mine, got, MPI_MAX); });
    REQUIRE((got == std::array<int, 2>{size - 1, 2 * (size - 1)}));
    end([&] { return way.scan(mine, got); });
    REQUIRE(got[0] == rank * (rank + 1) / 2);
    got = {-1, -1};
    end([&] { return way.exscan(mine, got); });
    REQUIRE(got[1] == (rank == 0 ? -1 : rank * (rank - 1)));

    std::vector<int> blocks(2 * n);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = rank * 1000 + static_cast<int>(i);
    end([&] { return way.reduce_scatter_block(blocks, got); });
    REQUIRE(got[0] == 1000 * sum_of_ranks + size * 2 * rank);

    std::vector<int> all(2 * n, -1);
    const auto all_are = [&](int block, int i, int value) { return all[static_cast<std::size_t>(2 * block + i)] == value; };
    end([&] { return way.allgather(mine, all); });
    for (int r = 0; r < size; ++r) REQUIRE(all_are(r, 0, r) && all_are(r, 1, 2 * r));
    end([&] { return way.alltoall(blocks, all); });
    for (int r = 0; r < size; ++r) REQUIRE(all_are(r, 1, r * 1000 + 2 * rank + 1));
    std::vector<int> at_root(rank == root ? 2 * n : 0, -1);
    end([&] { return way.gather(std::span(mine), at_root, root); });
    for (int r = 0; r < size && rank == root; ++r) REQUIRE(at_root[static_cast<std::size_t>(2 * r + 1)] == 2 * r);
    end([&] { return way.scatter(blocks, got, root); });
    REQUIRE(got[0] == root * 1000 + 2 * rank);

    // Rank r gives r % 3 elements.
    std::vector<int> counts(n), places(n);
    for (std::size_t r = 0; r < n; ++r) counts[r] = static_cast<int>(r % 3);
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    const std::vector<int> few(static_cast<std::size_t>(rank % 3), rank);
    std::vector<int> together(static_cast<std::size_t>(places.back() + counts.back()), -1), back(few.size(), -1);
    const auto in_order = [&] {
        for (int r = 0; r < size; ++r)
            for (int i = 0; i < r % 3; ++i) REQUIRE(together[static_cast<std::size_t>(places[static_cast<std::size_t>(r)] + i)] == r);
    };
    end([&] { return way.allgatherv(few, together, counts, places); });
    in_order();
    std::fill(together.begin(), together.end(), -1);
    end([&] { return way.gatherv(few, together, counts, places, root); });
    if (rank == root) in_order();
    end([&] { return way.scatterv(together, counts, places, back, root); });
    REQUIRE(back == few);

    // Rank r's block has r % 3 + 1 elements; each is the number of its block.
    std::vector<int> lengths(n), blocks_of;
    for (std::size_t r = 0; r < n; ++r) {
        lengths[r] = static_cast<int>(r % 3) + 1;
        for (int i = 0; i < lengths[r]; ++i) blocks_of.push_back(static_cast<int>(r));
    }
    std::vector<int> own(static_cast<std::size_t>(rank % 3 + 1), -1);
    end([&] { return way.reduce_scatter(blocks_of, own, lengths); });
    REQUIRE(std::ranges::count(own, rank * size) == rank % 3 + 1);
    if constexpr (!std::same_as<Way, fanlight::PersistentOperations>) {
        // To rank r goes r % 3 + 1 times this rank's number, backwards.
        std::vector<int> to(n), from(n), got_counts(n, rank % 3 + 1), out(n * own.size(), -1);
        std::exclusive_scan(lengths.begin(), lengths.end(), to.begin(), 0);
        for (std::size_t r = 0; r < n; ++r) from[r] = static_cast<int>((n - 1 - r) * own.size());
        const std::vector<int> given(blocks_of.size(), rank);
        end([&] { return way.alltoallv(given, lengths, to, out, got_counts, from); });
        for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(out[i] == size - 1 - static_cast<int>(i / own.size()));
    }

    std::vector<double> twice(5, rank + 0.5);
    end([&] { return way.bcast(twice, 0); });
    end([&] { return way.allreduce(in_place, twice); });
    REQUIRE(twice[4] == size * 0.5);
    std::vector<Pair> pairs(n, Pair{-1, -1});
    pairs[static_cast<std::size_t>(rank)] = {rank, -rank};
    end([&] { return way.allgather(in_place, pairs); });
    for (int r = 0; r < size; ++r) REQUIRE(pairs[static_cast<std::size_t>(r)].first == r && pairs[static_cast<std::size_t>(r)].second == -r);
}

template <class Wrong>
void refused(Wrong&& wrong) {
    try {
        wrong();
    } catch (const std::invalid_argument&) {
        return;
    }
    REQUIRE(!"refused");
}

void refusals(Communicator& world) {
    std::vector<int> two(2), three(3), blocks(static_cast<std::size_t>(2 * world.size() + 1));
    refused([&] { world.allreduce(two, three); });
    if (world.size() > 1) refused([&] { world.allgather(two, blocks); });
    refused([&] { world.reduce_scatter_block(blocks, two); });
    blocks.resize(static_cast<std::size_t>(2 * world.size()));
    std::vector<int> longer(static_cast<std::size_t>(3 * world.size()));
    refused([&] { world.allgather(three, blocks); });
    refused([&] { world.nonblocking().alltoall(longer, blocks).wait(); });
    refused([&] { world.gather(three, blocks, world.rank()); });
    refused([&] { world.scatter(blocks, three, world.rank()); });
    // Two numbers or one pair.
    std::vector<Pair> pairs(static_cast<std::size_t>(world.size()));
    world.allgather(two, pairs);
    const std::vector<int> counts(static_cast<std::size_t>(world.size()), 1), far(counts.size(), 10);
    refused([&] { world.allgatherv(two, two, counts, far); });
    std::vector<int> places(counts.size());
    std::iota(places.begin(), places.end(), 0);
    refused([&] { world.allgatherv(two, blocks, counts, places); });
    refused([&] { world.gatherv(two, blocks, counts, places, world.rank()); });
    refused([&] { world.scatterv(blocks, counts, places, two, world.rank()); });
    try {
        world.bcast(two, world.size());
        REQUIRE(!"an error");
    } catch (const fanlight::Error& e) {
        int error_class = 0;
        MPI_Error_class(e.code(), &error_class);
        REQUIRE(error_class == MPI_ERR_ROOT && *e.what());
    }
    if (world.size() == 1) return;
    try {
        world.set_algorithm("bcast:no-such-thing");
        REQUIRE(!"an error");
    } catch (const fanlight::Error& e) {
        REQUIRE(std::string(e.what()).find("no-such-thing") != std::string::npos);
    }
    world.set_algorithm("bcast:linear");
    REQUIRE(world.algorithm("bcast", 100).starts_with("linear by fanlight_set_algorithm"));
    world.bcast(two, 0);
    world.set_algorithm("");
}

void test() {
    Communicator world(MPI_COMM_WORLD);
    for (int i = 0; i < 3; ++i) {
        every_operation(world, world, [](auto&& run) { run(); });
        every_operation(world, world.nonblocking(), [](auto&& run) {
            fanlight::Request request = run();
            for (int looks = 0; looks < 3 && !request.test(); ++looks) continue;
            request.wait();
        });
        // Its end alone.
        every_operation(world, world.nonblocking(), [](auto&& run) { fanlight::Request request = run(); });
#if MPI_VERSION >= 4
        every_operation(world, world.persistent(), [](auto&& run) {
            auto request = run();
            request.start();
            request.wait();
        });
#endif
    }
    REQUIRE(world.allreduce(world.rank() + 0.5, MPI_MAX) == world.size() - 0.5);
    refusals(world);
    Communicator moved = std::move(world);
    moved.barrier();
    Communicator other(moved.handle());
    std::swap(moved, other);
    moved.barrier();
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &pair_type);
    MPI_Type_commit(&pair_type);
    test();
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::puts("ok");
    MPI_Type_free(&pair_type);
    MPI_Finalize();
}
