// What the API has beside MPI's own functions, and what it leaves to the MPI library.
//
//   control [REPORT]   the report goes to this file
//   control fatal      a wrong name with MPI's default error handler, which ends the program
#include <fanlight/fanlight.h>

#include "case.h"

static MPI_Comm comm;

static int mentions(const char *operation, MPI_Count bytes, const char *what) {
    char text[300];
    REQUIRE(fanlight_get_algorithm(comm, operation, bytes, text, sizeof text) == MPI_SUCCESS);
    return strstr(text, what) != NULL;
}

static void refused(int error, const char *what) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    REQUIRE(error != MPI_SUCCESS);
    MPI_Error_string(error, text, &length);
    if (!strstr(text, what)) fprintf(stderr, "'%s' does not say '%s'\n", text, what);
    REQUIRE(strstr(text, what));
}

static void sum(int n) {
    int *in = malloc(sizeof(int) * n), *out = malloc(sizeof(int) * n);
    for (int i = 0; i < n; ++i) in[i] = rank + i;
    REQUIRE(fanlight_allreduce(in, out, n, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < n; ++i) REQUIRE(out[i] == size * (size - 1) / 2 + size * i);
    free(in), free(out);
}

static void tell(int n) {
    int *data = malloc(sizeof(int) * n);
    for (int root = 0; root < size; ++root) {
        for (int i = 0; i < n; ++i) data[i] = rank == root ? root + i : -1;
        REQUIRE(fanlight_bcast(data, n, MPI_INT, root, comm) == MPI_SUCCESS);
        for (int i = 0; i < n; ++i) REQUIRE(data[i] == root + i);
    }
    free(data);
}

static long resident(void) {
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    REQUIRE(statm && fscanf(statm, "%*d %ld", &pages) == 1);
    fclose(statm);
    return pages * sysconf(_SC_PAGESIZE);
}

// What a communicator no longer chooses is not kept for ever.
static void many_choices(void) {
    char text[64];
    long before = 0;
    for (int turn = 0; turn < 500; ++turn) {
        if (turn == 50) before = resident();
        snprintf(text, sizeof text, "bcast:tree(degree=%d)", turn + 2);
        REQUIRE(fanlight_set_algorithm(comm, text) == MPI_SUCCESS);
        tell(1);
    }
    REQUIRE(resident() - before < 4 << 20);
    REQUIRE(fanlight_set_algorithm(comm, NULL) == MPI_SUCCESS);
}

static void algorithms(void) {
    const char *chosen[] = {"allreduce:recursive-doubling", "allreduce:tree(degree=2),bcast:binomial", "allreduce:native", ""};
    for (int turn = 0; turn < 12; ++turn) {
        // Requests that are in flight keep what they were started with.
        int one = rank, all = -1;
        MPI_Request request;
        REQUIRE(fanlight_iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm, &request) == MPI_SUCCESS);
        REQUIRE(fanlight_set_algorithm(comm, turn == 11 ? NULL : chosen[turn % 4]) == MPI_SUCCESS);
        sum(1), sum(100), sum(70000);
        tell(3), tell(50000);
        if (size > 1) {
            if (turn % 4 == 0) REQUIRE(mentions("allreduce", 400, "recursive-doubling by fanlight_set_algorithm: allreduce:rec"));
            if (turn % 4 == 1) REQUIRE(mentions("allreduce", 8, "tree") && mentions("bcast", 1 << 20, "binomial by"));
            if (turn % 4 == 2) REQUIRE(mentions("allreduce", 8, "native: fanlight_set_algorithm"));
            if (turn % 4 == 3) REQUIRE(!mentions("allreduce", 8, "fanlight_set_algorithm") && mentions("allreduce", 8, " by built-in rules"));
        }
        REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && all == size * (size - 1) / 2);
#if MPI_VERSION >= 4
        // Started when another one is chosen.
        MPI_Request kept;
        REQUIRE(fanlight_allreduce_init(&one, &all, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &kept) == MPI_SUCCESS);
        REQUIRE(fanlight_set_algorithm(comm, chosen[(turn + 1) % 4]) == MPI_SUCCESS);
        for (int i = 0; i < 3; ++i) {
            all = -1;
            MPI_Start(&kept);
            REQUIRE(MPI_Wait(&kept, MPI_STATUS_IGNORE) == MPI_SUCCESS && all == size * (size - 1) / 2);
        }
        MPI_Request_free(&kept);
#endif
    }
}

static void errors(void) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (size > 1) {
        refused(fanlight_set_algorithm(comm, "allreduce:no-such-thing"), "no-such-thing");
        refused(fanlight_set_algorithm(comm, "sing:loudly"), "sing");
        refused(fanlight_set_algorithm(comm, "bcast:binomial,bcast:linear"), "twice");
        refused(fanlight_set_algorithm(comm, rank ? "bcast:binomial" : "bcast:linear"), "do not name the same");
    }
    if (size == 3) refused(fanlight_set_algorithm(comm, "allgather:recursive-doubling"), "power of two");
    char text[4];
    refused(fanlight_get_algorithm(comm, "sing", 8, text, 4), "sing");
    refused(fanlight_get_algorithm(comm, "bcast", -8, text, 4), "bytes");
    refused(fanlight_get_algorithm(comm, NULL, 8, text, 4), "operation");
    REQUIRE(fanlight_get_algorithm(comm, "bcast", 8, text, 4) == MPI_SUCCESS && strlen(text) == 3);
    // What was wrong changed nothing.
    tell(100);
    refused(fanlight_bcast(text, -1, MPI_BYTE, 0, comm), "");
    refused(fanlight_bcast(text, 1, MPI_BYTE, size, comm), "");
}

// A report that one rank cannot write, as the first that is wanted.
static int unwritten(void) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int error = fanlight_write_report(rank ? NULL : "/nowhere/report.json");
    if (rank == 0) refused(error, "cannot write /nowhere/report.json");
    else REQUIRE(error == MPI_SUCCESS);
    return done();
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "unwritten") == 0) return unwritten();
    if (argc > 1 && strcmp(argv[1], "fatal") == 0) fanlight_set_algorithm(MPI_COMM_WORLD, "bcast:no-such-thing");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    REQUIRE(mentions("bcast", 8, "native: first calls"));
    REQUIRE(fanlight_prepare(comm) == MPI_SUCCESS);
    REQUIRE(mentions("bcast", 8, size == 1 ? "native: a communicator of one rank" : " by built-in rules"));
    REQUIRE(fanlight_report(argc > 1 ? argv[1] : "-") == MPI_SUCCESS);
    algorithms();
    many_choices();
    errors();
    REQUIRE(fanlight_alloc_mem((size_t)-1) == NULL);  // a length computed as negative
    // MPI's own are the MPI library's, and not in the report, unless the library is preloaded too.
    for (int i = 0; i < 30; ++i) MPI_Barrier(comm);
    // So far, by the first rank that names a file; what comes later is in the whole one alone.
    REQUIRE(fanlight_write_report(argc > 2 && rank == size - 1 ? argv[2] : NULL) == MPI_SUCCESS);
    if (size > 1) REQUIRE(fanlight_set_algorithm(comm, "scan:linear") == MPI_SUCCESS);
    int in = rank + 1, out = 0;
    REQUIRE(MPI_Scan(&in, &out, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && out == (rank + 1) * (rank + 2) / 2);
    MPI_Comm_free(&comm);
    return done();
}
