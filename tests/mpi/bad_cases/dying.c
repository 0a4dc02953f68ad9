// Delete functions of the program's that use what is just being freed, whose handle is the next object's; and one that
// MPI_Finalize calls, which starts persistent operations made before.
#include "case.h"

static int is_told(MPI_Datatype type, int last, const int expected[]) {
    int told[12];
    for (int i = 0; i < 12; ++i) told[i] = rank == 0 ? i : -1;
    REQUIRE(MPI_Bcast(told, 1, type, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; rank != 0 && i < last; ++i)
        if (told[i] != (expected[i] ? i : -1)) return 0;
    return 1;
}

static int delete_comm(MPI_Comm comm, int key, void *value, void *unused) {
    (void)key, (void)value, (void)unused;
    checked_allreduce(comm, 7, 5);
    return MPI_SUCCESS;
}

static const int of_two[12] = {1, 0, 0, 1}, of_three[12] = {1, 1, 0, 0, 1, 1, 0, 0, 1, 1};
static int delete_type(MPI_Datatype type, int key, void *value, void *unused) {
    (void)key, (void)value, (void)unused;
    REQUIRE(is_told(type, 12, of_two));
    return MPI_SUCCESS;
}

static void communicators(int by_disconnect) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &key, NULL);
    for (int turn = 0; turn < 6; ++turn) {
        MPI_Comm comm, other;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        // Before Fanlight's own attribute, or behind it.
        if (turn % 3 != 2 && rank % 2 == 0) MPI_Comm_set_attr(comm, key, &key);
        for (int i = 0; i < 5; ++i) checked_allreduce(comm, i, 10);
        if (turn % 3 != 2 && rank % 2 == 1) MPI_Comm_set_attr(comm, key, &key);
        if (by_disconnect) MPI_Comm_disconnect(&comm);
        else MPI_Comm_free(&comm);
        REQUIRE(comm == MPI_COMM_NULL);
        MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1, -rank, &other);
        for (int i = 0; i < 6; ++i) checked_allreduce(other, i, 10);
        MPI_Comm_free(&other);
    }
    MPI_Comm_free_keyval(&key);
}

static void datatypes(void) {
    int key;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_type, &key, NULL);
    for (int turn = 0; turn < 6; ++turn) {
        MPI_Datatype two, three;
        MPI_Type_vector(2, 1, 3, MPI_INT, &two);
        MPI_Type_commit(&two);
        REQUIRE(is_told(two, 12, of_two));
        MPI_Type_set_attr(two, key, NULL);
        MPI_Type_free(&two);
        REQUIRE(two == MPI_DATATYPE_NULL);
        MPI_Type_vector(3, 2, 4, MPI_INT, &three);
        MPI_Type_commit(&three);
        REQUIRE(is_told(three, 12, of_three));
        MPI_Type_free(&three);
    }
    MPI_Type_free_keyval(&key);
}

#if MPI_VERSION >= 4
enum { LONG = 30000 };
static int in, out, told[LONG];
static MPI_Request sum, tell;

static int delete_of_self(MPI_Comm comm, int key, void *value, void *unused) {
    (void)comm, (void)key, (void)value, (void)unused;
    for (int turn = 0; turn < 3; ++turn) {
        int index;
        out = -1;
        in = rank + turn;
        for (int i = 0; i < LONG; ++i) told[i] = rank == 0 ? i + turn : -1;
        MPI_Start(&sum);
        MPI_Waitany(1, &sum, &index, MPI_STATUS_IGNORE);
        MPI_Start(&tell);
        MPI_Wait(&tell, MPI_STATUS_IGNORE);
        REQUIRE(out == size * (size - 1) / 2 + size * turn);
        for (int i = 0; i < LONG; ++i) REQUIRE(told[i] == i + turn);
    }
    MPI_Request_free(&sum);
    MPI_Request_free(&tell);
    if (rank == 0) printf("ok\n"), fflush(stdout);
    return MPI_SUCCESS;
}

static void at_finalize(void) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_of_self, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &sum);
    MPI_Bcast_init(told, LONG, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &tell);
    MPI_Finalize();
}
#else
static void at_finalize(void) { done(); }
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int i = 0; i < 5; ++i) checked_allreduce(MPI_COMM_WORLD, i, 10);
    communicators(0);
    communicators(1);
    datatypes();
    at_finalize();
    return 0;
}
