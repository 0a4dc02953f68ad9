// Fanlight: a notification to each neighbor says that the field is there; then its face is
// loaded from its memory, or got where it is on another node.  No barrier: who writes a field
// again has been told by its neighbors that they are one step further, and so have read it.
#include "exchange.h"
#include "fanlight/fanlight.h"

static fanlight_pointer fields;

static int begin(Grid *g)
{
    if (fanlight_allocate(FANLIGHT_TEAM_ALL, 2 * g->doubles * sizeof(double), 0, &fields) != FANLIGHT_OK)
        return 0;
    g->field[0] = fanlight_ptr(fanlight_at(fields, g->rank, 0));
    g->field[1] = g->field[0] + g->doubles;
    return 1;
}

static void load_face(double *to, const double *from, const Face *f)
{
    for (int r = 0; r < f->rows; r++, to += f->row_stride, from += f->row_stride)
        for (size_t i = 0; i < (size_t)f->count * f->stride; i += f->stride)
            to[i] = from[i];
}

static void fill(Grid *g, int which, Times *t)
{
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++)
            if (g->neighbor[d][side] >= 0)
                fanlight_notify(FANLIGHT_TEAM_ALL, g->neighbor[d][side], 2 * d + !side);
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) {
            int neighbor = g->neighbor[d][side];
            if (neighbor < 0)
                continue;
            double start = MPI_Wtime();
            fanlight_wait_notify(FANLIGHT_TEAM_ALL, neighbor, 2 * d + side);
            double synchronized = MPI_Wtime();
            Face f = grid_face(g, d, side);
            double *to = g->field[which] + f.own;
            fanlight_pointer from = fanlight_at(fields, neighbor, ((size_t)which * g->doubles + f.there) * sizeof(double));
            const double *there = fanlight_ptr(from);
            if (there)
                load_face(to, there, &f);
            for (int r = 0; !there && r < f.rows; r++) {
                size_t shift = (size_t)r * f.row_stride, stride = f.stride * sizeof(double);
                fanlight_get_strided(to + shift, stride, fanlight_add(from, (int64_t)(shift * sizeof(double))), stride,
                                     sizeof(double), (size_t)f.count);
            }
            t->synchronization += synchronized - start;
            t->exchange += MPI_Wtime() - synchronized;
        }
}

static void end(Grid *g)
{
    (void)g;
    fanlight_free(fields);
}

const Exchange exchange_fanlight = {"fanlight", begin, fill, end};
