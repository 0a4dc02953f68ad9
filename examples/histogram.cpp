// A histogram of what all ranks have drawn, and how many numbers each of them drew.
//
//   mpicxx -std=c++20 histogram.cpp -I$PREFIX/include -L$PREFIX/lib/fanlight -Wl,-rpath,$PREFIX/lib/fanlight -lfanlight-mpich
#include <algorithm>
#include <array>
#include <cstdio>
#include <fanlight/fanlight.hpp>
#include <random>
#include <vector>

static void histogram(const fanlight::Communicator& world) {
    std::mt19937 draw(static_cast<unsigned>(world.rank()));
    std::normal_distribution<double> height(5.0, 1.5);
    const std::vector<long> drawn{1000L * (world.rank() + 1)};

    std::array<long, 10> mine{}, all{};
    for (long i = 0; i < drawn[0]; ++i) {
        const auto bin = static_cast<std::size_t>(std::clamp(height(draw), 0.0, 9.0));
        ++mine[bin];
    }
    auto request = world.nonblocking().allreduce(mine, all);  // waits when it ends, at the latest
    std::vector<long> by_rank(static_cast<std::size_t>(world.size()));
    world.gather(drawn, by_rank, 0);
    request.wait();

    const double most = world.allreduce(static_cast<double>(drawn[0]), MPI_MAX);
    if (world.rank() != 0) return;
    for (const long n : all) std::printf("%ld ", n);
    std::printf("\nof %zu ranks, at most %.0f each\n", by_rank.size(), most);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    histogram(fanlight::Communicator(MPI_COMM_WORLD));
    MPI_Finalize();
}
