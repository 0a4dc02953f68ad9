// DART, as the paper has it: blocking gets from one neighbor after the other, and a barrier for
// each.
#include "exchange.h"
#include "fanlight/dart.h"

static dart_gptr_t fields;

static int begin(Grid *g)
{
    if (dart_team_memalloc_aligned(DART_TEAM_ALL, 2 * g->doubles, DART_TYPE_DOUBLE, &fields) != DART_OK)
        return 0;
    dart_gptr_setunit(&fields, DART_TEAM_UNIT_ID(g->rank));
    dart_gptr_getaddr(fields, (void **)&g->field[0]);
    g->field[1] = g->field[0] + g->doubles;
    return 1;
}

static void fill(Grid *g, int which, Times *t)
{
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) {
            double start = MPI_Wtime();
            dart_barrier(DART_TEAM_ALL);
            double synchronized = MPI_Wtime();
            int neighbor = g->neighbor[d][side];
            Face f = grid_face(g, d, side);
            dart_datatype_t row;
            dart_type_create_strided(DART_TYPE_DOUBLE, f.stride, 1, &row);
            for (int r = 0; neighbor >= 0 && r < f.rows; r++) {
                dart_gptr_t from = fields;
                size_t shift = (size_t)which * g->doubles + (size_t)r * f.row_stride;
                dart_gptr_setunit(&from, DART_TEAM_UNIT_ID(neighbor));
                dart_gptr_incaddr(&from, (int64_t)((f.there + shift) * sizeof(double)));
                dart_get_blocking(g->field[0] + f.own + shift, from, (size_t)f.count, row, row);
            }
            dart_type_destroy(&row);
            t->synchronization += synchronized - start;
            t->exchange += MPI_Wtime() - synchronized;
        }
}

static void end(Grid *g)
{
    (void)g;
    dart_team_memfree(fields);
}

const Exchange exchange_dart = {"dart", begin, fill, end};
