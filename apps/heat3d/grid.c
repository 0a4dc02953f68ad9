#include "grid.h"

#include <stdlib.h>
#include <sys/mman.h>

int grid_share(int cells, int ranks, int at, int *start)
{
    int first = (int)((long)cells * at / ranks);
    if (start)
        *start = first;
    return (int)((long)cells * (at + 1) / ranks) - first;
}

void grid_place(const Grid *g, int rank, int at[3])
{
    at[0] = rank % g->ranks[0];
    at[1] = rank / g->ranks[0] % g->ranks[1];
    at[2] = rank / (g->ranks[0] * g->ranks[1]);
}

const char *grid_make(Grid *g, const int cells[3], int per_rank, MPI_Comm comm)
{
    int size, largest[3];
    *g = (Grid){.comm = comm};
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &g->rank);
    // z is cut first: its faces are contiguous.
    int dims[3] = {0, 0, 0};
    MPI_Dims_create(size, 3, dims);
    for (int d = 0; d < 3; d++) {
        g->ranks[d] = dims[2 - d];
        long all = (long)cells[d] * (per_rank ? g->ranks[d] : 1);
        if (all < g->ranks[d])
            return "fewer cells than ranks in a direction";
        if (all > 1 << 30)
            return "more than 2^30 cells in a direction";
        g->cells[d] = (int)all;
    }
    grid_place(g, g->rank, g->at);
    int step = 1;
    for (int d = 0; d < 3; d++) {
        g->size[d] = grid_share(g->cells[d], g->ranks[d], g->at[d], &g->start[d]);
        g->neighbor[d][0] = g->at[d] > 0 ? g->rank - step : -1;
        g->neighbor[d][1] = g->at[d] + 1 < g->ranks[d] ? g->rank + step : -1;
        step *= g->ranks[d];
        largest[d] = (g->cells[d] + g->ranks[d] - 1) / g->ranks[d];
    }
    g->stride[0] = 1;
    // The halo behind a row lies in the line of the one before the next row.
    g->stride[1] = ((size_t)largest[0] + 1 + grid_line) / grid_line * grid_line;
    g->stride[2] = g->stride[1] * ((size_t)largest[1] + 2);
    g->doubles = g->stride[2] * ((size_t)largest[2] + 2) + grid_line;
    return NULL;
}

Face grid_face(const Grid *g, int d, int side)
{
    // Rows run along the first of the other two directions.
    int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
    Face f = {g->size[a], g->size[b], g->stride[a], g->stride[b], 0, 0, 0};
    int cell[3] = {0, 0, 0}, theirs = 0;
    int next = g->at[d] + (side ? 1 : -1);
    if (next >= 0 && next < g->ranks[d])
        theirs = grid_share(g->cells[d], g->ranks[d], next, NULL);
    cell[d] = side ? g->size[d] : -1;
    f.own = grid_index(g, cell[0], cell[1], cell[2]);
    cell[d] = side ? g->size[d] - 1 : 0;
    f.inner = grid_index(g, cell[0], cell[1], cell[2]);
    cell[d] = side ? 0 : theirs - 1;
    f.there = grid_index(g, cell[0], cell[1], cell[2]);
    return f;
}

double *grid_private_memory(const Grid *g)
{
    size_t page = 2 << 20, bytes = (2 * g->doubles * sizeof(double) + page - 1) / page * page;
    double *memory = aligned_alloc(page, bytes);
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}
