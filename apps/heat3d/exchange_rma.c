// MPI RMA in passive mode, as the paper has it: blocking gets (MPI_Rget and MPI_Wait) from one
// neighbor after the other, and a barrier for each.
#include "exchange.h"

static MPI_Win fields;

static int begin(Grid *g)
{
    MPI_Aint bytes = (MPI_Aint)(2 * g->doubles * sizeof(double));
    MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, g->comm, &g->field[0], &fields);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, fields);
    g->field[1] = g->field[0] + g->doubles;
    return 1;
}

static void fill(Grid *g, int which, Times *t)
{
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) {
            double start = MPI_Wtime();
            MPI_Barrier(g->comm);
            double synchronized = MPI_Wtime();
            int neighbor = g->neighbor[d][side];
            Face f = grid_face(g, d, side);
            MPI_Datatype row;
            MPI_Type_vector(f.count, 1, (int)f.stride, MPI_DOUBLE, &row);
            MPI_Type_commit(&row);
            for (int r = 0; neighbor >= 0 && r < f.rows; r++) {
                MPI_Request request;
                size_t shift = (size_t)which * g->doubles + (size_t)r * f.row_stride;
                MPI_Rget(g->field[0] + f.own + shift, 1, row, neighbor, (MPI_Aint)(f.there + shift), 1, row, fields,
                         &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            MPI_Type_free(&row);
            t->synchronization += synchronized - start;
            t->exchange += MPI_Wtime() - synchronized;
        }
}

static void end(Grid *g)
{
    (void)g;
    MPI_Win_unlock_all(fields);
    MPI_Win_free(&fields);
}

const Exchange exchange_rma = {"rma", begin, fill, end};
