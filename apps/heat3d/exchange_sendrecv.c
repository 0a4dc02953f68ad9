// MPI_Sendrecv with each neighbor, the faces as MPI datatypes.
#include <stdlib.h>

#include "exchange.h"

static MPI_Datatype faces[3];

static int begin(Grid *g)
{
    g->field[0] = grid_private_memory(g);
    if (!g->field[0])
        return 0;
    g->field[1] = g->field[0] + g->doubles;
    for (int d = 0; d < 3; d++) {
        Face f = grid_face(g, d, 0);
        MPI_Datatype row;
        MPI_Type_vector(f.count, 1, (int)f.stride, MPI_DOUBLE, &row);
        MPI_Type_create_hvector(f.rows, 1, (MPI_Aint)(f.row_stride * sizeof(double)), row, &faces[d]);
        MPI_Type_commit(&faces[d]);
        MPI_Type_free(&row);
    }
    return 1;
}

static int rank_or_null(int rank) { return rank < 0 ? MPI_PROC_NULL : rank; }

static void fill(Grid *g, int which, Times *t)
{
    double start = MPI_Wtime(), *u = g->field[which];
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) {
            // Sent to one side, received from the other.
            Face to = grid_face(g, d, side), from = grid_face(g, d, !side);
            MPI_Sendrecv(u + to.inner, 1, faces[d], rank_or_null(g->neighbor[d][side]), d, u + from.own, 1, faces[d],
                         rank_or_null(g->neighbor[d][!side]), d, g->comm, MPI_STATUS_IGNORE);
        }
    t->exchange += MPI_Wtime() - start;
}

static void end(Grid *g)
{
    for (int d = 0; d < 3; d++)
        MPI_Type_free(&faces[d]);
    free(g->field[0]);
}

const Exchange exchange_sendrecv = {"sendrecv", begin, fill, end};
