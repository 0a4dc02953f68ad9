// neighbor_allgather(v), neighbor_alltoall(v, w) on grids, graphs and directed graphs: neighbors that
// are not there, that appear twice, that are the rank itself, ranks that have none.
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { MOST = 2 * MAX_RANKS };

struct topology {
    const char *name;
    struct scope scope;
    bool grid;
    int in, out, sources[MOST], targets[MOST];
    int all_out[MAX_RANKS], all_targets[MAX_RANKS * MOST];
};

// One side's blocks, by their places in MPI's buffer.
struct side {
    int places, counts[MOST], at[MOST];
#if HAVE_LARGE_COUNTS
    MPI_Count counts_c[MOST];
    MPI_Aint at_c[MOST];
#endif
    MPI_Datatype types[MOST];
    MPI_Aint byte[MOST];
    const struct layout *layout[MOST];
    MPI_Count parts[MOST];
    struct area area, after;
};

enum operation { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, OPERATIONS };
static const char *const names[] = {"neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
                                    "neighbor_alltoallv", "neighbor_alltoallw"};

struct job {
    enum operation operation;
    const struct topology *topology;
    MPI_Count elements;
    unsigned call;
    struct side from, to;
};

// Three ints one by one, with gaps between them, and far apart: one signature.
enum { LAYOUTS = 3 };
static struct layout layouts[LAYOUTS];

static void make(void) {
    layouts[0] = (struct layout){"int", MPI_INT, 1, {{0, 4}}, 4};
    layouts[1] = (struct layout){"vector", 0, 3, {{0, 4}, {8, 4}, {16, 4}}, 0};
    MPI_Type_vector(3, 1, 2, MPI_INT, &layouts[1].type);
    layouts[2] = (struct layout){"resized", 0, 1, {{0, 4}}, 0};
    MPI_Type_create_resized(MPI_INT, 0, 12, &layouts[2].type);
    for (int i = 1; i < LAYOUTS; ++i) complete_layout(&layouts[i]);
}

// Of several edges from the same rank the n-th in the list of sources is the n-th in that rank's
// list of targets; but in a grid what is sent down comes from above (MPI-4.1, 8.6).  Intel MPI 2021
// does not know the exception, and Fanlight follows its MPI library.
static int place_at_source(const struct topology *t, int place) {
    const int source = t->sources[place];
#ifndef I_MPI_VERSION
    if (t->grid) return place ^ 1;
#endif
    int number = 0;
    for (int i = 0; i < place; ++i) number += t->sources[i] == source;
    for (int i = 0; i < t->all_out[source]; ++i)
        if (t->all_targets[source * MOST + i] == t->scope.rank && number-- == 0) return i;
    must(MPI_ERR_TOPOLOGY, "an edge that only one of its ends knows");
    return -1;
}

static MPI_Count parts_from(const struct job *j, int source, int place) {
    switch (j->operation) {
        case ALLGATHERV: return j->elements * ((source + (int)(j->call % 3)) % 3);
        case ALLTOALLV:
        case ALLTOALLW: return j->elements * ((source * 2 + place + (int)(j->call % 3)) % 3);
        default: return j->elements;
    }
}

// The v forms' blocks lie in the opposite order, with gaps.
static void make_side(const struct job *j, struct side *s, bool sends) {
    const struct topology *t = j->topology;
    const bool one = sends && j->operation <= ALLGATHERV, each = j->operation == ALLTOALLW;
    const bool v = !one && (each || j->operation == ALLGATHERV || j->operation == ALLTOALLV);
    const int round = (int)j->call / BACK_TO_BACK;  // the same datatypes in calls back to back
    const int turn = t->scope.rank + round + (!sends && round % 2);
    s->places = sends ? t->out : t->in;
    const int *neighbors = sends ? t->targets : t->sources;
    MPI_Aint at = v ? 48 : 0;
    for (int i = 0; i < s->places; ++i) {
        const int p = v ? s->places - 1 - i : i;
        const struct layout *l = &layouts[(turn + (each ? p : 0)) % LAYOUTS];
        const bool nobody = neighbors[p] == MPI_PROC_NULL;
        s->layout[p] = l;
        s->types[p] = l->type;
        s->parts[p] = nobody && !one ? j->elements
                      : sends ? parts_from(j, t->scope.rank, p)
                              : parts_from(j, t->sources[p], place_at_source(t, p));
        s->counts[p] = (int)(s->parts[p] / l->parts);
        if (v) at += (l->extent - at % l->extent) % l->extent;
        s->byte[p] = at;
        s->at[p] = (int)(at / l->extent);
#if HAVE_LARGE_COUNTS
        s->counts_c[p] = s->counts[p];
        s->at_c[p] = s->at[p];
#endif
        if (!one) at += s->counts[p] * l->extent + (v ? 8 : 0);
    }
    // A rank without neighbors.
    s->layout[s->places] = &layouts[turn % LAYOUTS];
    if (one && s->places) at = s->counts[0] * s->layout[0]->extent;
    const struct layout bytes = {"byte", MPI_BYTE, 1, {{0, 1}}, 1};
    s->area = new_area(&bytes, at + 48);
}

static void write_block(const struct side *s, const struct area *area, int place, int source, int place_there, unsigned call) {
    struct area from_there = *area;
    from_there.at += s->byte[place];
    write_payload(&from_there, s->layout[place], 0, s->parts[place], source, (uint64_t)place_there << 32, call);
}

static void fill(struct job *j) {
    const struct topology *t = j->topology;
    const bool gathers = j->operation <= ALLGATHERV;
    make_side(j, &j->from, true);
    make_side(j, &j->to, false);
    for (int i = 0; i < t->out; ++i)
        if (t->targets[i] != MPI_PROC_NULL) write_block(&j->from, &j->from.area, i, t->scope.rank, gathers ? 0 : i, j->call);
    j->from.after = copy_area(&j->from.area);
    j->to.after = copy_area(&j->to.area);
    for (int i = 0; i < t->in; ++i)
        if (t->sources[i] != MPI_PROC_NULL)
            write_block(&j->to, &j->to.after, i, t->sources[i], gathers ? 0 : place_at_source(t, i), j->call);
}

#define CALL(suffix)                                                                                              \
    switch (j->operation) {                                                                                       \
        case ALLGATHER:                                                                                           \
            return MPI_Neighbor_allgather##suffix(from->area.at, sent, s->type, to->area.at, taken, r->type, comm); \
        case ALLGATHERV:                                                                                          \
            return MPI_Neighbor_allgatherv##suffix(from->area.at, sent, s->type, to->area.at, to->counts##suffix, \
                                                   to->at##suffix, r->type, comm);                                \
        case ALLTOALL:                                                                                            \
            return MPI_Neighbor_alltoall##suffix(from->area.at, sent, s->type, to->area.at, taken, r->type, comm); \
        case ALLTOALLV:                                                                                           \
            return MPI_Neighbor_alltoallv##suffix(from->area.at, from->counts##suffix, from->at##suffix, s->type, \
                                                  to->area.at, to->counts##suffix, to->at##suffix, r->type, comm); \
        default:                                                                                                  \
            return MPI_Neighbor_alltoallw##suffix(from->area.at, from->counts##suffix, from->byte, from->types,   \
                                                  to->area.at, to->counts##suffix, to->byte, to->types, comm);    \
    }

static int run(struct job *j) {
    const struct side *from = &j->from, *to = &j->to;
    const struct layout *s = from->layout[0], *r = to->layout[0];
    const MPI_Comm comm = j->topology->scope.comm;
    const int sent = from->places ? from->counts[0] : 0, taken = to->places ? to->counts[0] : 0;
#if HAVE_LARGE_COUNTS
    if (j->call % 2) { CALL(_c) }
#endif
    CALL()
}

static void check_job(struct job *j, int code) {
    const struct topology *t = j->topology;
    char what[256];
    snprintf(what, sizeof what, "%s, rank %d of %d, call %u, %lld elements, sent as %s, received as %s", t->name,
             t->scope.rank, t->scope.size, j->call, (long long)j->elements, j->from.layout[0]->name, j->to.layout[0]->name);
    check(code == MPI_SUCCESS, names[j->operation], "%s: returned %d", what, code);
    check_area(&j->from.area, &j->from.after, names[j->operation], what);
    check_area(&j->to.area, &j->to.after, names[j->operation], what);
    for (int i = 0; i < 2; ++i) {
        struct side *s = i ? &j->to : &j->from;
        free_area(&s->area);
        free_area(&s->after);
    }
}

// Open MPI 5.0.11's non-blocking and persistent ones do not know the exception either.
static bool defective(const struct topology *t) {
#ifdef OPEN_MPI
    for (int i = 0; i < t->in && t->grid; i += 2)
        if (t->sources[i] == t->sources[i + 1] && t->sources[i] != MPI_PROC_NULL) return wrong_in_mpi(true);
#endif
    (void)t;
    return false;
}

static void test_topology(struct topology *t) {
    static unsigned calls;
    static const MPI_Count lengths[] = {3, 12, 48, 3000, 24000}, quick_lengths[] = {12, 24000};
    t->scope = scope_of(t->name, t->scope.comm);
    must(MPI_Allgather(&t->out, 1, MPI_INT, t->all_out, 1, MPI_INT, t->scope.comm), "MPI_Allgather");
    must(MPI_Allgather(t->targets, MOST, MPI_INT, t->all_targets, MOST, MPI_INT, t->scope.comm), "MPI_Allgather");
    for (enum operation o = 0; o < OPERATIONS; ++o) {
        if (!wanted(names[o]) || (o >= ALLTOALL && defective(t))) continue;
        for (int l = 0; l < (quick ? 2 : 5); ++l) {
            struct job jobs[BACK_TO_BACK];
            int code[BACK_TO_BACK];
            for (int b = 0; b < BACK_TO_BACK; ++b) {
                jobs[b] = (struct job){.operation = o, .topology = t, .elements = quick ? quick_lengths[l] : lengths[l], .call = calls++};
                fill(&jobs[b]);
            }
            for (int b = 0; b < BACK_TO_BACK; ++b) code[b] = run(&jobs[b]);
            for (int b = 0; b < BACK_TO_BACK; ++b) check_job(&jobs[b], code[b]);
        }
    }
    must(MPI_Comm_free(&t->scope.comm), "MPI_Comm_free");
}

static void test_grid(const char *name, int dimensions, int *sides, const int *periods) {
    static struct topology t;
    t = (struct topology){.name = name, .grid = true, .in = 2 * dimensions, .out = 2 * dimensions};
    must(MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides, periods, 0, &t.scope.comm), "MPI_Cart_create");
    for (int d = 0; d < dimensions; ++d)
        must(MPI_Cart_shift(t.scope.comm, d, 1, &t.sources[2 * d], &t.sources[2 * d + 1]), "MPI_Cart_shift");
    memcpy(t.targets, t.sources, sizeof t.targets);
    test_topology(&t);
}

// Everybody is a neighbor of rank 0.
static void test_star(const struct scope *world) {
    static struct topology t;
    int index[MAX_RANKS], edges[2 * MAX_RANKS], n = world->size - 1;
    for (int i = 0; i < n; ++i) edges[i] = i + 1;
    for (int i = 0; i < n; ++i) edges[n + i] = 0;
    for (int r = 0; r < world->size; ++r) index[r] = n + r;
    t = (struct topology){.name = "star", .in = world->rank ? 1 : n, .out = world->rank ? 1 : n};
    must(MPI_Graph_create(MPI_COMM_WORLD, world->size, index, edges, 0, &t.scope.comm), "MPI_Graph_create");
    for (int i = 0; i < t.in; ++i) t.sources[i] = t.targets[i] = world->rank ? 0 : i + 1;
    test_topology(&t);
}

// Some ranks have no targets, some edges are there twice or more often, some lead to their own rank.
static void test_directed(const struct scope *world, int seed) {
    static struct topology t;
    int weights[MOST], target[5];
    t = (struct topology){.name = "directed"};
    for (int i = 0; i < MOST; ++i) weights[i] = i + 1;
    for (int s = world->size - 1; s >= 0; --s) {
        const int out = (s * 3 + seed) % 6;
        for (int k = 0; k < out; ++k) {
            target[k] = k < 3 ? (s * 7 + k * k * 5 + seed) % world->size : target[0];
            if (s == world->rank) t.targets[t.out++] = target[k];
            if (target[k] == world->rank) t.sources[t.in++] = s;
        }
    }
    must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, t.in, t.sources, weights, t.out, t.targets, weights,
                                        MPI_INFO_NULL, 0, &t.scope.comm), "MPI_Dist_graph_create_adjacent");
    test_topology(&t);
}

// Open MPI 5.0.11 hands a graph on to a communicator of fewer ranks, which it does not fit.
static void test_part_of_a_graph(const struct scope *world) {
    int all[MAX_RANKS], last = world->size - 1;
    MPI_Comm graph, part;
    MPI_Group everybody, others;
    for (int i = 0; i < world->size; ++i) all[i] = i;
    must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, world->size, all, all, world->size, all, all,
                                        MPI_INFO_NULL, 0, &graph), "MPI_Dist_graph_create_adjacent");
    must(MPI_Comm_group(graph, &everybody), "MPI_Comm_group");
    must(MPI_Group_excl(everybody, 1, &last, &others), "MPI_Group_excl");
    if (world->rank < last) {
        must(MPI_Comm_create_group(graph, others, 7, &part), "MPI_Comm_create_group");
        for (int call = 0; call < 4; ++call) {
            int sum = -1, own = world->rank + call;
            const int code = MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, part);
            check(code == MPI_SUCCESS && sum == last * (last - 1) / 2 + last * call, "allreduce", "on a part of a graph: %d", sum);
        }
        must(MPI_Comm_free(&part), "MPI_Comm_free");
    }
    MPI_Group_free(&everybody);
    MPI_Group_free(&others);
    must(MPI_Comm_free(&graph), "MPI_Comm_free");
}

void test_neighbors(const struct scope *world) {
    if (huge) return;
    make();
    int sides[2] = {0, 0};
    must(MPI_Dims_create(world->size, 2, sides), "MPI_Dims_create");
    test_grid("ring", 1, (int[]){world->size}, (int[]){1});
    test_grid("line", 1, (int[]){world->size}, (int[]){0});
    test_grid("tube", 2, sides, (int[]){1, 0});
    test_grid("thin torus", 3, (int[]){1, world->size, 1}, (int[]){1, 1, 1});
    test_star(world);
    for (int seed = 1; seed <= (quick ? 2 : 4); ++seed) test_directed(world, seed);
    test_part_of_a_graph(world);
    for (int i = 1; i < LAYOUTS; ++i) MPI_Type_free(&layouts[i].type);
}
