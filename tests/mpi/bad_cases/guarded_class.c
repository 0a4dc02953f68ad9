// Two classes of calls for the guard: allgathers of a datatype that MPI_Pack packs, and sums of floating-point
// numbers whose bits depend on their order.  After each there is what shows whether the bits are always the same.
//
//   guarded_class CALLS [own]      own: by an operator of the program's own
#include "case.h"

enum { n = 8, gaps = 64 };

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; ++i) ((double *)inout)[i] += ((double *)in)[i];
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int calls = atoi(argv[1]);
    // More runs than Fanlight copies by itself.
    MPI_Datatype type;
    MPI_Type_vector(gaps, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    static int give[2 * gaps], got[64 * gaps];
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    double numbers[n], first[n], sum[n];
    for (int i = 0; i < n; ++i) numbers[i] = 1.0 / (3 + rank * 7 + i) * (rank % 2 ? 1e10 : 1);
    for (int call = 0; call < calls; ++call) {
        for (int i = 0; i < gaps; ++i) give[2 * i] = call * 1000 + rank * 100 + i;
        MPI_Allgather(give, 1, type, got, gaps, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < size; ++r)
            for (int i = 0; i < gaps; ++i) REQUIRE(got[r * gaps + i] == call * 1000 + r * 100 + i);
        MPI_Allreduce(numbers, sum, n, MPI_DOUBLE, argc > 2 ? op : MPI_SUM, MPI_COMM_WORLD);
        if (call == 0) memcpy(first, sum, sizeof sum);
        REQUIRE(!memcmp(first, sum, sizeof sum));
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    return done();
}
