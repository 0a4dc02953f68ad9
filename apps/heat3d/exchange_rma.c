// MPI RMA in passive mode, as the paper has it: blocking gets (MPI_Rget and MPI_Wait) from one
// neighbour after the other, and a barrier for each.
#include "exchange.h"

static MPI_Win fields[2];

static void begin(Grid *g)
{
    MPI_Aint bytes = (MPI_Aint)(g->doubles * sizeof(double));
    for (int i = 0; i < 2; i++) {
        MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, g->comm, &g->field[i], &fields[i]);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, fields[i]);
    }
}

static void fill(Grid *g, int which, Times *t)
{
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) {
            double start = MPI_Wtime();
            MPI_Barrier(g->comm);
            double synchronised = MPI_Wtime();
            int neighbour = g->neighbour[d][side];
            Face f = grid_face(g, d, side);
            MPI_Datatype row;
            MPI_Type_vector(f.count, 1, (int)f.stride, MPI_DOUBLE, &row);
            MPI_Type_commit(&row);
            for (int r = 0; neighbour >= 0 && r < f.rows; r++) {
                MPI_Request request;
                size_t shift = (size_t)r * f.row_stride;
                MPI_Rget(g->field[which] + f.own + shift, 1, row, neighbour, (MPI_Aint)(f.there + shift), 1, row,
                         fields[which], &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            MPI_Type_free(&row);
            t->synchronisation += synchronised - start;
            t->exchange += MPI_Wtime() - synchronised;
        }
}

static void end(Grid *g)
{
    (void)g;
    for (int i = 0; i < 2; i++) {
        MPI_Win_unlock_all(fields[i]);
        MPI_Win_free(&fields[i]);
    }
}

const Exchange exchange_rma = {"rma", begin, fill, end};
