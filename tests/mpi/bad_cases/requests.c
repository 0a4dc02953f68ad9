// Non-blocking collectives: several in flight, waited for in different orders on the ranks, mixed
// with messages in one array of requests; and what must go on while a rank is elsewhere.  What each brings is
// looked at as soon as it is over, before the next is waited for.
//
//   requests [freed]   also frees an active request (MPI forbids it; it must not do harm)
//   requests freed-on-one-rank   nothing but a persistent one that a rank has freed before others have started it
//   requests many      also makes more persistent ones, one after the other, than there are tags
//   requests plain     without what MPI libraries themselves do wrong
#include "case.h"

enum { MANY = 100, LONG = 300000 };
static int plain, freed;

static int value(int source, int i, int call) { return (source + 1) * 1000003 + i * 17 + call; }

static void meet(MPI_Comm comm) {
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
}

// Another one in each call comes a little later.
static void apart(int call) {
    if (rank == call % size) usleep(200);
}

static void one_of_each(int call) {
    enum { N = 50 };
    int *send = malloc(sizeof(int) * N * size), told[N], summed[N], prefix[N], block[N];
    int *gathered = malloc(sizeof(int) * N * size), *all = malloc(sizeof(int) * N * size), *swapped = malloc(sizeof(int) * N * size);
    const int root = call % size;
    for (int i = 0; i < N * size; ++i) send[i] = value(rank, i, call) % 65536;
    for (int i = 0; i < N; ++i) told[i] = rank == root ? i + call : -1;
    memset(gathered, 0, sizeof(int) * N * size);
    MPI_Request r[9];
    apart(call);
    MPI_Iallreduce(send, summed, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]);
    MPI_Ibcast(told, N, MPI_INT, root, MPI_COMM_WORLD, &r[1]);
    MPI_Igather(send, N, MPI_INT, gathered, N, MPI_INT, root, MPI_COMM_WORLD, &r[2]);
    MPI_Ibarrier(MPI_COMM_WORLD, &r[3]);
    MPI_Iallgather(send, N, MPI_INT, all, N, MPI_INT, MPI_COMM_WORLD, &r[4]);
    MPI_Ialltoall(send, N, MPI_INT, swapped, N, MPI_INT, MPI_COMM_WORLD, &r[5]);
    MPI_Iscan(send, prefix, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[6]);
    MPI_Iscatter(send, N, MPI_INT, block, N, MPI_INT, root, MPI_COMM_WORLD, &r[7]);
    r[8] = MPI_REQUEST_NULL;
    for (int done = 0; done < 9; ++done) {
        const int k = (done * (rank % 2 ? 2 : 7) + call) % 9;  // an order of this rank's own
        if (rank % 3 == 2) {
            int flag = 0;
            while (!flag) MPI_Test(&r[k], &flag, MPI_STATUS_IGNORE);
        } else {
            MPI_Status status = {.MPI_SOURCE = 77, .MPI_TAG = 77};
            REQUIRE(MPI_Wait(&r[k], &status) == MPI_SUCCESS);
            // What MPI calls an empty one; of its own collectives, here perhaps the first, the MPI library says something else.
            if (!plain && size > 1 && k > 0) REQUIRE(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
        }
        REQUIRE(r[k] == MPI_REQUEST_NULL);
        for (int i = 0; i < N; ++i) {
            int sum = 0, before = 0;
            for (int s = 0; s < size; ++s) {
                const int theirs = value(s, i, call) % 65536;
                sum += theirs;
                if (s <= rank) before += theirs;
                if (k == 2 && rank == root) REQUIRE(gathered[s * N + i] == theirs);
                if (k == 4) REQUIRE(all[s * N + i] == theirs);
                if (k == 5) REQUIRE(swapped[s * N + i] == value(s, rank * N + i, call) % 65536);
            }
            if (k == 0) REQUIRE(summed[i] == sum);
            if (k == 1) REQUIRE(told[i] == i + call);
            if (k == 6) REQUIRE(prefix[i] == before);
            if (k == 7) REQUIRE(block[i] == value(root, rank * N + i, call) % 65536);
        }
    }
    free(send), free(gathered), free(all), free(swapped);
}

// More than there are lanes.
static void many_at_once(void) {
    int in[MANY], out[MANY];
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; ++i) {
        in[i] = rank + i;
        MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    }
    if (rank == size - 1) usleep(3000);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; ++i) REQUIRE(out[i] == size * (size - 1) / 2 + size * i);
}

// Each with lengths of its own: what one needs must live as long as it is in flight.
static void many_lengths(void) {
    MPI_Request r[MANY];
    int *counts = malloc(sizeof(int) * MANY * size), *places = malloc(sizeof(int) * MANY * size);
    int *send = malloc(sizeof(int) * MANY * 200), *all = malloc(sizeof(int) * MANY * size * 200);
    if (rank == size - 1) usleep(3000);  // the others have them all in flight
    for (int i = 0; i < MANY; ++i) {
        for (int s = 0; s < size; ++s) {
            counts[i * size + s] = 1 + (i * 7 + s * 31) % 200;
            places[i * size + s] = s * 200;
        }
        for (int k = 0; k < 200; ++k) send[i * 200 + k] = value(rank, k, i);
        MPI_Iallgatherv(send + i * 200, counts[i * size + rank], MPI_INT, all + i * size * 200, counts + i * size,
                        places + i * size, MPI_INT, MPI_COMM_WORLD, &r[i]);
    }
    MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; ++i)
        for (int s = 0; s < size; ++s)
            for (int k = 0; k < counts[i * size + s]; ++k) REQUIRE(all[(i * size + s) * 200 + k] == value(s, k, i));
    free(counts), free(places), free(send), free(all);
}

// MPI forbids changing an input that is in flight; MPICH and Open MPI have usually sent a short one by then.
static void inputs_that_change(int call) {
    enum { N = 32, OPERATIONS = 6 };
    long in[OPERATIONS][N], summed[N], to_root[N], prefix[N], before[N];
    long *gathered = malloc(sizeof(long) * N * size), *all = malloc(sizeof(long) * N * size);
    const int root = call % size;
    MPI_Request r[OPERATIONS];
    for (int i = 0; i < OPERATIONS * N; ++i) in[i / N][i % N] = value(rank, i % N, call);
    apart(call);
    MPI_Iallreduce(in[0], summed, N, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &r[0]);
    MPI_Ireduce(in[1], to_root, N, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD, &r[1]);
    MPI_Iscan(in[2], prefix, N, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &r[2]);
    MPI_Iexscan(in[3], before, N, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &r[3]);
    MPI_Igather(in[4], N, MPI_LONG, gathered, N, MPI_LONG, root, MPI_COMM_WORLD, &r[4]);
    MPI_Iallgather(in[5], N, MPI_LONG, all, N, MPI_LONG, MPI_COMM_WORLD, &r[5]);
    memset(in, 0x5a, sizeof in);
    MPI_Waitall(OPERATIONS, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; ++i) {
        long sum = 0, mine = 0;
        for (int s = 0; s < size; ++s) {
            const long theirs = value(s, i, call);
            if (s == rank && s > 0) REQUIRE(before[i] == sum);
            sum += theirs;
            if (s == rank) mine = sum;
            if (rank == root) REQUIRE(gathered[s * N + i] == theirs);
            REQUIRE(all[s * N + i] == theirs);
        }
        REQUIRE(summed[i] == sum && prefix[i] == mine && (rank != root || to_root[i] == sum));
    }
    free(gathered), free(all);
}

static void mixed_with_messages(int call) {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int sum = -1, in = rank + call, got = -1, told = rank == 0 ? call : -1, indices[4], n;
    MPI_Request r[4];
    MPI_Irecv(&got, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &r[0]);
    apart(call / 4);
    MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(&in, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &r[2]);
    MPI_Ibcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD, &r[3]);
    for (int left = 4, seen = 0; left > 0; left -= n) {
        n = 1;
        switch (call % 4) {
            case 0: MPI_Waitall(n = 4, r, MPI_STATUSES_IGNORE); break;
            case 1: MPI_Waitany(4, r, indices, MPI_STATUS_IGNORE); break;
            case 2: MPI_Testsome(4, r, &n, indices, MPI_STATUSES_IGNORE); break;
            case 3:
                MPI_Waitsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
                REQUIRE(n > 0);
        }
        REQUIRE(n >= 0 && n <= left);
        for (int i = 0; i < n; ++i) {
            const int k = call % 4 == 0 ? i : indices[i];
            REQUIRE(k >= 0 && k < 4 && !(seen >> k & 1) && r[k] == MPI_REQUEST_NULL);
            seen |= 1 << k;
            REQUIRE(k == 0 ? got == from + call : k == 1 ? sum == size * (size - 1) / 2 + size * call : k == 2 || told == call);
        }
    }
}

// A rank inside MPI_Recv must give its part of a barrier that the sender waits for.
static void elsewhere(void) {
    MPI_Request request;
    int token = rank;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (rank == 0) {
        for (int s = 1; s < size; ++s) {
            MPI_Recv(&token, 1, MPI_INT, s, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(token == s);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Ssend(&token, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    }
    // The same with many pieces.
    int *buffer = malloc(sizeof(int) * LONG);
    for (int i = 0; i < LONG; ++i) buffer[i] = rank == size - 1 ? i : -1;
    MPI_Ibcast(buffer, LONG, MPI_INT, size - 1, MPI_COMM_WORLD, &request);
    if (rank == size - 1) {
        if (size > 1) MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0) MPI_Ssend(&token, 1, MPI_INT, size - 1, 7, MPI_COMM_WORLD);
    }
    for (int i = 0; i < LONG; ++i) REQUIRE(buffer[i] == i);
    free(buffer);
}

static int copied;
static int copy_attribute(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag) {
    (void)type, (void)key, (void)extra, (void)in, (void)out;
    ++copied;
    *flag = 0;
    return MPI_SUCCESS;
}

// What an operation uses may be given back while it is in flight; the memory of what is known of the
// first datatype, whose elements touch, is then the second one's.
static void freed_meanwhile(void) {
    enum { N = 40 };
    int key;
    MPI_Type_create_keyval(copy_attribute, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    meet(comm);
    int *all = malloc(sizeof(int) * N * size);
    for (int call = 0; call < 5; ++call) {
        MPI_Datatype dense, every_second;
        MPI_Request requests[2];
        int mine[N];
        for (int i = 0; i < N; ++i) mine[i] = value(rank, i, call);
        MPI_Type_contiguous(N, MPI_INT, &dense);
        MPI_Type_commit(&dense);
        MPI_Iallgather(mine, 1, dense, all, 1, dense, comm, &requests[0]);
        MPI_Type_free(&dense);
        MPI_Type_vector(N, 1, 2, MPI_INT, &every_second);
        MPI_Type_commit(&every_second);
        MPI_Type_set_attr(every_second, key, &key);
        int strided[2 * N];
        for (int i = 0; i < 2 * N; ++i) strided[i] = rank == 0 ? i : -1;
        MPI_Ibcast(strided, 1, every_second, 0, comm, &requests[1]);
        MPI_Type_free(&every_second);
        if (call == 4) MPI_Comm_free(&comm);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 2 * N; ++i) REQUIRE(strided[i] == (rank == 0 || i % 2 == 0 ? i : -1));
        for (int s = 0; s < size; ++s)
            for (int i = 0; i < N; ++i) REQUIRE(all[s * N + i] == value(s, i, call));
    }
    free(all);
    REQUIRE(copied == 0 || plain);
    MPI_Type_free_keyval(&key);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; ++i) ((int *)inout)[i] += ((int *)in)[i];
}

struct map {
    unsigned a, b;
};
static struct map after(struct map left, struct map right) { return (struct map){left.a * right.a, left.a * right.b + left.b}; }
static void compose(void *in, void *inout, int *n, MPI_Datatype *type) {
    if (*type != MPI_2INT) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < *n; ++i) ((struct map *)inout)[i] = after(((struct map *)in)[i], ((struct map *)inout)[i]);
}
static struct map map_of(int source, int i, int call) { return (struct map){2 * (unsigned)value(source, i, call) + 1, (unsigned)i + 3}; }
static int composed(struct map got, int begin, int end, int i, int call) {
    struct map all = map_of(begin, i, call);
    for (int s = begin + 1; s < end; ++s) all = after(all, map_of(s, i, call));
    return got.a == all.a && got.b == all.b;
}

// Operators of the program's, which may be freed while they are in flight, while a rank is elsewhere.
static void own_operator(void) {
    MPI_Op op;
    int in[3] = {rank, 2, 3}, out[3] = {-1, -1, -1}, token = 0;
    MPI_Request r[5];
    MPI_Op_create(add, 1, &op);
    MPI_Iallreduce(in, out, 3, MPI_INT, op, MPI_COMM_WORLD, &r[0]);
    if (rank == 0)
        for (int s = 1; s < size; ++s) MPI_Recv(&token, 1, MPI_INT, s, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Ssend(&token, 1, MPI_INT, 0, 11, MPI_COMM_WORLD);
    REQUIRE(out[0] == size * (size - 1) / 2 && out[1] == 2 * size && out[2] == 3 * size);
    MPI_Op_free(&op);

    enum { N = 30 };
    struct map *send = malloc(sizeof *send * N * size), all[N], prefix[N], before[N], reduced[N], block[N];
    for (int call = 0; call < 5; ++call) {
        const int root = call % size;
        for (int i = 0; i < N * size; ++i) send[i] = map_of(rank, i, call);
        memcpy(prefix, send, sizeof prefix);
        MPI_Op_create(compose, 0, &op);
        MPI_Iallreduce(send, all, N, MPI_2INT, op, MPI_COMM_WORLD, &r[0]);
        MPI_Iscan(MPI_IN_PLACE, prefix, N, MPI_2INT, op, MPI_COMM_WORLD, &r[1]);
        MPI_Iexscan(send, before, N, MPI_2INT, op, MPI_COMM_WORLD, &r[2]);
        MPI_Ireduce(send, reduced, N, MPI_2INT, op, root, MPI_COMM_WORLD, &r[3]);
        MPI_Ireduce_scatter_block(send, block, N, MPI_2INT, op, MPI_COMM_WORLD, &r[4]);
        MPI_Op_free(&op);
        REQUIRE(op == MPI_OP_NULL);
        MPI_Op_create(add, 1, &op);  // takes the place of one that is gone too early
        MPI_Waitall(5, r, MPI_STATUSES_IGNORE);
        MPI_Op_free(&op);
        for (int i = 0; i < N; ++i) {
            REQUIRE(composed(all[i], 0, size, i, call) && composed(prefix[i], 0, rank + 1, i, call));
            REQUIRE(rank == 0 || composed(before[i], 0, rank, i, call));
            REQUIRE(rank != root || composed(reduced[i], 0, size, i, call));
            REQUIRE(composed(block[i], 0, size, rank * N + i, call));
        }
    }
    free(send);
}

// A message that is too long, among them: the statuses say which one has failed, and no more are written than there are.
static void one_fails(void) {
    const int sent[2] = {1, 2};
    int in = rank, sum = -1, received[2] = {-1, -1};
    MPI_Request r[2], send;
    MPI_Status statuses[3];
    memset(statuses, 77, sizeof statuses);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Isend(sent, 2, MPI_INT, rank, 5, MPI_COMM_WORLD, &send);
    MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(received, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &r[1]);
    const int code = MPI_Waitall(2, r, statuses);
    int code_class = MPI_SUCCESS, own_class = MPI_SUCCESS;
    MPI_Error_class(code, &code_class);
    MPI_Error_class(statuses[1].MPI_ERROR, &own_class);
    REQUIRE(code_class == MPI_ERR_IN_STATUS && own_class == MPI_ERR_TRUNCATE && statuses[0].MPI_ERROR == MPI_SUCCESS);
    REQUIRE(sum == size * (size - 1) / 2 && received[1] == -1);
    for (size_t i = 0; i < sizeof(MPI_Status); ++i) REQUIRE(((const char *)&statuses[2])[i] == 77);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
// Started again and again, in an order of each rank's own, with the buffers' contents of that time.
static void persistent(void) {
    enum { N = 3, LENGTH = 20000 };
    int sum[N], strided[2 * N], in_place[N], *told = malloc(sizeof(int) * LENGTH), *all = malloc(sizeof(int) * size);
    int counts[64], places[64], place = 0;
    for (int s = 0; s < size; ++s) counts[s] = 1, places[s] = place++;
    MPI_Datatype every_second;
    MPI_Type_vector(N, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Request r[4];
    MPI_Allreduce_init(MPI_IN_PLACE, in_place, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Bcast_init(strided, 1, every_second, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    MPI_Bcast_init(told, LENGTH, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[2]);
    MPI_Allgatherv_init(&sum[0], 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &r[3]);
    if (!plain) MPI_Type_free(&every_second);  // Open MPI 5.0.11 still uses it
    for (int call = 0; call < 30; ++call) {
        apart(call);
        sum[0] = rank * call;
        for (int i = 0; i < N; ++i) in_place[i] = rank + call + i;
        for (int i = 0; i < 2 * N; ++i) strided[i] = rank == 0 ? i + call : -1;
        for (int i = 0; i < LENGTH; ++i) told[i] = rank == size - 1 ? i + call : -1;
        const int own_order = plain ? 0 : rank;  // with different ones Intel MPI 2021.18 hangs
        if (call % 5 == 2) MPI_Startall(4, r);
        else
            for (int k = 0; k < 4; ++k) MPI_Start(&r[(k * (own_order % 2 ? 1 : 3) + own_order) % 4]);
        if (call % 3 == 0) MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 4; ++k) {
            const int over = (k + rank) % 4;
            if (call % 3 != 0) MPI_Wait(&r[over], MPI_STATUS_IGNORE);
            for (int i = 0; i < N && over == 0; ++i) REQUIRE(in_place[i] == size * (size - 1) / 2 + size * (call + i));
            for (int i = 0; i < 2 * N && over == 1; ++i) REQUIRE(strided[i] == (rank == 0 || i % 2 == 0 ? i + call : -1));
            for (int i = 0; i < LENGTH && over == 2; ++i) REQUIRE(told[i] == i + call);
            for (int s = 0; s < size && over == 3; ++s) REQUIRE(all[s] == s * call);
        }
    }
    for (int k = 0; k < 4; ++k) {
        MPI_Wait(&r[k], MPI_STATUS_IGNORE);  // inactive: returns at once
        MPI_Request_free(&r[k]);
        REQUIRE(r[k] == MPI_REQUEST_NULL);
    }
    if (plain) MPI_Type_free(&every_second);
    free(told), free(all);
}

// In each of the ways in which a program learns of its end, among messages.
static void persistent_ends(void) {
    enum { N = 3 };
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int in[2], sum[2], got, sent, flag, index, n, indices[N];
    const int theirs = plain || size == 1;  // the MPI library's own, without what it does wrong
    MPI_Status status, statuses[N];
    MPI_Request r[N];
    MPI_Allreduce_init(&in[0], &sum[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Allreduce_init(&in[1], &sum[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    r[2] = MPI_REQUEST_NULL;
    for (int call = 0; call < 160; ++call) {
        in[0] = rank + call, in[1] = rank * call;
        sum[0] = sum[1] = got = -1;
        MPI_Startall(2, r);
        // A message that is there only after both have ended everywhere.
        MPI_Irecv(&got, 1, MPI_INT, from, 8, MPI_COMM_WORLD, &r[2]);
        sent = rank * call;
        int seen[2] = {0, 0};
        // Ends the first two, as far as the program is told.
        switch ((call + (theirs ? 0 : rank)) % 8) {
            case 0:
                for (int k = 1; k >= 0; --k) {
                    REQUIRE(MPI_Wait(&r[k], &status) == MPI_SUCCESS);
                    MPI_Test_cancelled(&status, &flag);
                    REQUIRE(!flag);
                    MPI_Get_count(&status, MPI_INT, &n);
                    REQUIRE(n == 0 || theirs);  // the MPI library's own says something else
                }
                break;
            case 1:
                for (int k = 0; k < 2; ++k)
                    do MPI_Test(&r[k], &flag, &status);
                    while (!flag);
                break;
            case 2: MPI_Waitall(2, r, statuses); break;
            case 3:  // not over without the message, but then as if it had never been asked
                for (int k = 0; k < (theirs ? 0 : 200); ++k) {  // MPICH 5.0.2's fails on its own persistent ones
                    MPI_Testall(N, r, &flag, statuses);
                    REQUIRE(!flag);
                }
                // fall through
            case 4:
                for (int k = 0; k < 2; ++k) {
                    MPI_Waitany(N, r, &index, &status);
                    REQUIRE(index >= 0 && index < 2 && !seen[index]++);
                }
                break;
            case 5:
                for (int k = 0; k < 2;) {
                    MPI_Testany(N, r, &index, &flag, &status);
                    if (!flag) continue;
                    REQUIRE(index >= 0 && index < 2 && !seen[index]++);
                    ++k;
                }
                break;
            case 6:
                for (int k = 0; k < 2; k += n) {
                    MPI_Waitsome(N, r, &n, indices, statuses);
                    for (int i = 0; i < n; ++i) REQUIRE(indices[i] < 2 && !seen[indices[i]]++);
                }
                break;
            case 7:
                for (int k = 0; k < 2; ++k) {
                    for (flag = 0; !flag;) MPI_Request_get_status(r[k], &flag, &status);
                    if (call % 2 && !theirs) {  // of MPICH 5.0.2's own it made an inactive one
                        MPI_Testsome(1, &r[k], &n, indices, statuses);
                        REQUIRE(n == 1);
                    } else {
                        MPI_Wait(&r[k], &status);
                    }
                }
        }
        REQUIRE(sum[0] == size * (size - 1) / 2 + size * call && sum[1] == (size - 1) * call);
        REQUIRE(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(&sent, 1, MPI_INT, to, 8, MPI_COMM_WORLD);
        // Inactive ones do not count.
        if (!theirs) {
            status.MPI_ERROR = MPI_ERR_OTHER;
            MPI_Request_get_status(r[0], &flag, &status);
            REQUIRE(flag && status.MPI_ERROR == MPI_SUCCESS);
        }
        if (call % 2) {
            MPI_Waitany(N, r, &index, &status);
            REQUIRE(index == 2);
        } else {
            MPI_Waitall(N, r, statuses);
        }
        REQUIRE(got == from * call && r[2] == MPI_REQUEST_NULL);
    }
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    for (int call = 0; call < (theirs ? 0 : 9); ++call) {
        in[0] = rank + call, in[1] = rank * call;
        sum[0] = sum[1] = -1;
        MPI_Startall(2, r);
        if (call % 3 == 0) {
            for (flag = 0; !flag;) MPI_Request_get_status_all(2, r, &flag, statuses);
        } else if (call % 3 == 1) {
            for (flag = 0; !flag;) MPI_Request_get_status_any(1, &r[1], &index, &flag, &status);
            REQUIRE(index == 0);
        } else {
            for (n = 0; n == 0;) MPI_Request_get_status_some(2, r, &n, indices, statuses);
        }
        MPI_Waitall(2, r, statuses);
        REQUIRE(sum[0] == size * (size - 1) / 2 + size * call && sum[1] == (size - 1) * call);
    }
#endif
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

// One rank is inside MPI_Recv, and what it has started must go on.
static void persistent_elsewhere(void) {
    enum { LENGTH = 40000 };
    int one = rank, sum = -1, token = rank, *told = malloc(sizeof(int) * LENGTH);
    MPI_Request r[3];
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Bcast_init(told, LENGTH, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &r[2]);
    for (int call = 0; call < 12; ++call) {
        sum = -1;
        for (int i = 0; i < LENGTH; ++i) told[i] = rank == size - 1 ? i + call : -1;
        MPI_Startall(3, r);
        if (rank == call % size) {
            for (int s = 0; s < size; ++s)
                if (s != rank) MPI_Recv(&token, 1, MPI_INT, s, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
        } else {
            MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
            MPI_Ssend(&token, 1, MPI_INT, call % size, 9, MPI_COMM_WORLD);
        }
        REQUIRE(sum == size * (size - 1) / 2);
        for (int i = 0; i < LENGTH; ++i) REQUIRE(told[i] == i + call);
    }
    for (int k = 0; k < 3; ++k) MPI_Request_free(&r[k]);
    free(told);
}

// Each is freed before the next one is made, which has its memory where that suffices.
static void persistent_in_turn(void) {
    enum { N = 12 };
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    int *sent = malloc(sizeof(int) * N * size), *received = malloc(sizeof(int) * N * size), *counts = malloc(sizeof(int) * size * 2);
    int sum[N], told;
    for (int p = 0; p < size; ++p) counts[p] = 1 + (rank + p) % N, counts[size + p] = p * N;
    for (int call = 0; call < 3; ++call) {
        MPI_Request r;
        const int root = call % size;
        for (int i = 0; i < N * size; ++i) sent[i] = rank * 1000 + i + call, received[i] = -1;
        for (int kind = 0; kind < 6; ++kind) {
            memset(sum, -1, sizeof sum);
            told = rank == root ? 5 + kind : -1;
            switch (kind) {
                case 0: case 4: MPI_Bcast_init(&told, 1, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &r); break;
                case 1: case 3: MPI_Allreduce_init(sent, sum, N, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &r); break;
                case 2: MPI_Alltoall_init(sent, N, MPI_INT, received, N, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &r); break;
                default:
                    for (int i = 0; i < N * size; ++i) received[i] = -1;
                    MPI_Alltoallv_init(sent, counts, counts + size, MPI_INT, received, counts, counts + size, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
            }
            MPI_Start(&r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            MPI_Request_free(&r);
            if (kind == 0 || kind == 4) REQUIRE(told == 5 + kind);
            for (int i = 0; i < N && (kind == 1 || kind == 3); ++i) REQUIRE(sum[i] == 1000 * (size * (size - 1) / 2) + size * (i + call));
            for (int s = 0; s < size && (kind == 2 || kind == 5); ++s)
                for (int i = 0; i < N; ++i)
                    REQUIRE(received[s * N + i] == (kind == 2 || i < counts[s] ? s * 1000 + rank * N + i + call : -1));
        }
    }
    MPI_Op_free(&op);
    free(sent), free(received), free(counts);
}

// One that rank 0 has freed is still to be started on the others when the next one is made, which must not have its memory.
static void persistent_freed_on_one_rank(void) {
    enum { N = 100 };
    int told[N], others[N], over = 0;
    MPI_Request first, second;
    for (int i = 0; i < N; ++i) told[i] = rank == 0 ? i : -1, others[i] = rank == 0 ? -2 - i : -1;
    MPI_Bcast_init(told, N, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &first);
    // The root need not wait for the others, which come later.
    if (rank == 0) MPI_Start(&first);
    for (int i = 0; i < 100 && rank == 0 && !over; ++i) MPI_Test(&first, &over, MPI_STATUS_IGNORE), usleep(100);
    if (over) MPI_Request_free(&first);
    MPI_Bcast_init(others, N, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &second);
    MPI_Start(&second);
    MPI_Wait(&second, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Start(&first);
    if (!over) MPI_Wait(&first, MPI_STATUS_IGNORE), MPI_Request_free(&first);
    for (int i = 0; i < N; ++i) REQUIRE(told[i] == i && others[i] == -2 - i);
    MPI_Request_free(&second);
    if (rank == 0 && over) printf("freed before the others have started it\n");
}

// More are made, one after the other, than there are tags for their ends.
static void many_persistent(void) {
    int in[2] = {rank, rank}, out[2] = {-1, -1};
    MPI_Request old, other;
    MPI_Allreduce_init(&in[0], &out[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &old);
    for (int i = 0; i < 32766; ++i) {
        MPI_Allreduce_init(&in[1], &out[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &other);
        if (i < 32765) MPI_Request_free(&other);
    }
    for (int call = 0; call < 3; ++call) {
        out[0] = out[1] = -1;
        if (rank == 0) MPI_Start(&old);
        MPI_Start(&other);
        if (rank != 0) {
            MPI_Wait(&other, MPI_STATUS_IGNORE);
            usleep(20000);  // rank 0's other one has ended, its old one has not
            MPI_Start(&old);
        }
        MPI_Wait(&old, MPI_STATUS_IGNORE);
        REQUIRE(out[0] == size * (size - 1) / 2);
        if (rank == 0) MPI_Wait(&other, MPI_STATUS_IGNORE);
        REQUIRE(out[1] == size * (size - 1) / 2);
    }
    MPI_Request_free(&old);
    MPI_Request_free(&other);
}
#else
static void persistent(void) {}
static void persistent_ends(void) {}
static void persistent_elsewhere(void) {}
static void persistent_in_turn(void) {}
static void persistent_freed_on_one_rank(void) {}
static void many_persistent(void) {}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv);
    plain = argc > 1 && strcmp(argv[1], "plain") == 0;
    freed = argc > 1 && strcmp(argv[1], "freed") == 0;
    meet(MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "freed-on-one-rank") == 0) {
        for (int i = 0; i < 5; ++i) persistent_freed_on_one_rank();
        return done();
    }
    for (int call = 0; call < 60; ++call) {
        one_of_each(call);
        mixed_with_messages(call);
        if (call % 7 == 3) checked_allreduce(MPI_COMM_WORLD, call, 10);
    }
    for (int call = 0; call < 10 && !plain; ++call) inputs_that_change(call);
    many_at_once();
    many_lengths();
    for (int i = 0; i < 5; ++i) elsewhere();
    freed_meanwhile();
    own_operator();
    for (int i = 0; i < 3; ++i) persistent();
    persistent_ends();
    one_fails();
    persistent_elsewhere();
    persistent_in_turn();
    if (argc > 1 && strcmp(argv[1], "many") == 0) many_persistent();
    if (freed) {
        static int told;
        MPI_Request request;
        told = rank == 0 ? 9 : -1;
        MPI_Ibcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        REQUIRE(request == MPI_REQUEST_NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0, flag; i < 20 && told != 9; ++i) {
            usleep(1000);
            MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        REQUIRE(told == 9);
    }
    return done();
}
