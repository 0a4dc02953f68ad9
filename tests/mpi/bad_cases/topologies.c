// MPI_Comm_create_group's communicators have no topology.  Open MPI's have their parent's, and still when that has ended.
// It takes a graph that is made of a grid's communicator for a grid.
#include "case.h"

// Memory that was freed is others' now.
static void use_memory(void) {
    static void *kept[4000];
    for (int i = 0; i < 4000; ++i) memset(kept[i] = malloc(8 + (size_t)i % 120), 1, 8 + (size_t)i % 120);
    for (int i = 0; i < 4000; ++i) free(kept[i]);
}

static void check(MPI_Comm parent) {
    MPI_Group group;
    MPI_Comm some, copy;
    MPI_Comm_group(parent, &group);
    MPI_Comm_create_group(parent, group, 3, &some);
    MPI_Group_free(&group);
    MPI_Comm_free(&parent);
    use_memory();
    for (int i = 0; i < 40; ++i) checked_allreduce(some, i, 3);
    MPI_Comm_dup(some, &copy);
    for (int i = 0; i < 40; ++i) checked_allreduce(copy, i, 3);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&some);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int next = (rank + 1) % size, before = (rank + size - 1) % size, periodic = 1;
    MPI_Comm ring, grid;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    check(ring);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &grid);
    check(grid);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &grid);
    MPI_Dist_graph_create_adjacent(grid, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    for (int i = 0; i < 40; ++i) checked_allreduce(ring, i, 3);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&grid);
    return done();
}
