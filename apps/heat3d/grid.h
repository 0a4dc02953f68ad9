// This rank's part of the grid: two fields with a halo of one cell, x running fastest.  All
// ranks' fields have the same strides, so that a neighbor's cell is found without asking it.
#ifndef HEAT3D_GRID_H
#define HEAT3D_GRID_H

#include <mpi.h>
#include <stddef.h>

typedef struct Grid {
    int cells[3];        // of the whole, without the edges
    int rank, ranks[3], at[3];  // this rank; the decomposition, and its place in it
    int start[3], size[3];  // its cells
    size_t stride[3];    // doubles to the next cell in x, y, z
    size_t doubles;      // from the first field to the second, the same on all ranks
    int neighbor[3][2];  // ranks below and above in each direction; -1: the edge
    int past_cache;      // what a step writes is not read again before it has left the cache
    double *field[2];    // in one piece of memory of 2 * doubles
    MPI_Comm comm;
} Grid;

// cells: of the whole, or of each rank.  Returns null, or what is wrong, the same on all ranks.
const char *grid_make(Grid *grid, const int cells[3], int per_rank, MPI_Comm comm);

// The place of a rank in the decomposition.
void grid_place(const Grid *grid, int rank, int at[3]);

// How many cells rank `at` of `ranks` has in a direction, and where they start.
int grid_share(int cells, int ranks, int at, int *start);

// Each row's first cell starts a line of memory.
enum { grid_line = 8 };

static inline size_t grid_index(const Grid *g, int x, int y, int z)  // the halo is at -1
{
    return (size_t)(z + 1) * g->stride[2] + (size_t)(y + 1) * g->stride[1] + (size_t)(x + grid_line);
}

// A face: `rows` of `count` cells, the cells `stride` and the rows `row_stride` doubles apart.
typedef struct Face {
    int count, rows;
    size_t stride, row_stride;
    size_t own;    // where it starts in this rank's halo
    size_t inner;  // where this rank's cells for that neighbor start
    size_t there;  // where the neighbor's cells for this rank start
} Face;
Face grid_face(const Grid *g, int direction, int side);

// Both fields' memory for this process alone, which it frees, or null; in large pages, where the system
// gives them, since a step has many of the small ones in use at once.
double *grid_private_memory(const Grid *g);

#endif
