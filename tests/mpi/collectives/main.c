// The blocking collectives of MPI, checked from outside: uses nothing but MPI.
//
//   collectives [--quick] [--large] [--plain] [--commutative] [--memory=mpi|both] [--only=operation,...]
//
// Prints `ok <number of checks>`; or says what is wrong, the first of each kind, and ends with 1.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

bool quick, huge, plain, commutative;
enum memory memory = OF_MALLOC;
static const char *only;

bool wrong_in_mpi(bool defect) { return plain && defect; }

bool wanted(const char *operation) {
    if (!only) return true;
    const size_t length = strlen(operation);
    for (const char *at = only; (at = strstr(at, operation)); at += length)
        if ((at == only || at[-1] == ',') && (!at[length] || at[length] == ',')) return true;
    return false;
}

// Nobody may leave a barrier before the last one has entered it: every rank writes the number
// of the barrier that it enters into memory that all can see.
void test_barrier(const struct scope *scope) {
    if (!wanted("barrier") || huge) return;
    MPI_Win window;
    atomic_int *mine, *entered[MAX_RANKS];
    must(MPI_Win_allocate_shared(128, 1, MPI_INFO_NULL, scope->comm, &mine, &window),
         "MPI_Win_allocate_shared");
    atomic_init(mine, 0);
    for (int r = 0; r < scope->size; ++r) {
        MPI_Aint bytes;
        int unit;
        MPI_Win_shared_query(window, r, &bytes, &unit, &entered[r]);
    }
    must(MPI_Win_fence(0, window), "MPI_Win_fence");
    for (int number = 1; number <= 200; ++number) {
        const int late = number * 7 % scope->size;
        if (scope->rank == late && number % 8 == 0) usleep(500);
        atomic_store(mine, number);
        must(MPI_Barrier(scope->comm), "MPI_Barrier");
        for (int r = 0; r < scope->size; ++r) {
            const int seen = atomic_load(entered[r]);
            check(seen >= number, "barrier", "%s: rank %d left barrier %d of rank %d in %d",
                  scope->name, scope->rank, number, r, seen);
            check(seen <= number + 1, "barrier", "%s: rank %d passed barrier %d without rank %d",
                  scope->name, r, number + 1, scope->rank);
        }
    }
    must(MPI_Win_fence(0, window), "MPI_Win_fence");
    MPI_Win_free(&window);
}

static void test_all(const struct scope *scope, bool all) {
    test_barrier(scope);
    test_movement(scope, all);
    test_reductions(scope, all);
    test_same_bits(scope);
}

static void test_communicators(const struct scope *world) {
    MPI_Comm dup, halves, reversed;
    must(MPI_Comm_dup(MPI_COMM_WORLD, &dup), "MPI_Comm_dup");
    must(MPI_Comm_split(MPI_COMM_WORLD, world->rank % 2, world->rank, &halves), "MPI_Comm_split");
    must(MPI_Comm_split(MPI_COMM_WORLD, 0, -world->rank, &reversed), "MPI_Comm_split");
    const struct scope scopes[] = {
        *world, scope_of("reversed", reversed), scope_of("even or odd", halves),
        scope_of("dup", dup), scope_of("self", MPI_COMM_SELF)};
    test_in_turn(scopes, 4);
    for (int s = 1; s < 3; ++s) test_all(&scopes[s], false);
    if (!quick) test_all(&scopes[4], false);
    must(MPI_Comm_free(&dup), "MPI_Comm_free");
    test_in_turn(scopes, 3);
    must(MPI_Comm_free(&halves), "MPI_Comm_free");
    must(MPI_Comm_free(&reversed), "MPI_Comm_free");

    // Made, used and freed in a loop; the last one outlives its successor.
    MPI_Comm before = MPI_COMM_NULL;
    for (int i = 0; i < (quick ? 6 : 25); ++i) {
        MPI_Comm comm;
        must(MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? 0 : world->rank / 2,
                            i % 2 ? -world->rank : world->rank, &comm), "MPI_Comm_split");
        const struct scope pair[] = {scope_of("short-lived", comm), *world};
        test_in_turn(pair, 2);
        if (before != MPI_COMM_NULL) must(MPI_Comm_free(&before), "MPI_Comm_free");
        before = comm;
    }
    must(MPI_Comm_free(&before), "MPI_Comm_free");
}

int main(int argc, char **argv) {
    must(MPI_Init(&argc, &argv), "MPI_Init");
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--quick")) quick = true;
        else if (!strcmp(argv[i], "--large")) huge = true;
        else if (!strcmp(argv[i], "--plain")) plain = true;
        else if (!strcmp(argv[i], "--commutative")) commutative = true;
        else if (!strcmp(argv[i], "--memory=mpi")) memory = OF_MPI;
        else if (!strcmp(argv[i], "--memory=both")) memory = OF_BOTH;
        else if (!strncmp(argv[i], "--only=", 7)) only = argv[i] + 7;
        else return fprintf(stderr, "unknown option %s\n", argv[i]), 2;
    }
    const struct scope world = scope_of("world", MPI_COMM_WORLD);
    if (world.size > MAX_RANKS) return fprintf(stderr, "too many ranks\n"), 2;
    make_layouts();
    make_reductions();
    test_all(&world, true);
    if (!huge) test_communicators(&world);
    test_neighbors(&world);
    free_reductions();
    free_layouts();
    const int wrong = finish();
    MPI_Finalize();
    return wrong;
}
