#include "shared.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t area_bytes(int ranks)
{
    return (size_t)ranks * (3 * sizeof(Flag) + sizeof(Desk)) + BENCH_DATA;
}

// The same on all nodes of one machine (namespaces, containers), and on no other machine but a clone of it.
static int machine_of(MPI_Comm node, int rank)
{
    PMPI_Bcast(&rank, 1, MPI_INT, 0, node);
    char id[37] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    bool known = file && fgets(id, sizeof id, file);
    if (file)
        fclose(file);
    uint32_t hash = 2166136261u;
    for (const char *c = id; *c; ++c)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return known ? (int)(hash >> 1) : rank;
}

// A launcher may bind each rank to one core: what counts is what they have together.
static void look_at_machine(Shared *shared)
{
    MPI_Comm node, machine;
    PMPI_Comm_split_type(shared->control, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int node_rank;
    PMPI_Comm_rank(node, &node_rank);
    int leader = node_rank == 0;
    PMPI_Allreduce(&leader, &shared->nodes, 1, MPI_INT, MPI_SUM, shared->control);
    PMPI_Comm_split(shared->control, machine_of(node, shared->rank), 0, &machine);
    PMPI_Comm_free(&node);

    PMPI_Comm_rank(machine, &shared->machine_rank);
    PMPI_Comm_size(machine, &shared->machine_ranks);
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    PMPI_Allreduce(&mine, &shared->allowed, (int)sizeof mine, MPI_BYTE, MPI_BOR, machine);
    shared->cores = CPU_COUNT(&shared->allowed);
    PMPI_Comm_free(&machine);
    int crowded = shared->machine_ranks > shared->cores, any_crowded;
    PMPI_Allreduce(&crowded, &any_crowded, 1, MPI_INT, MPI_MAX, shared->control);
    shared->oversubscribed = any_crowded;
}

bool shared_bind(Shared *shared)
{
    if (shared->oversubscribed)
        return false;
    int core = -1;
    for (int left = shared->machine_rank + 1; left > 0;)
        left -= CPU_ISSET(++core, &shared->allowed) != 0;
    cpu_set_t before, one;
    CPU_ZERO(&before);
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    int bound = sched_setaffinity(0, sizeof one, &one) == 0, all_bound;
    PMPI_Allreduce(&bound, &all_bound, 1, MPI_INT, MPI_MIN, shared->control);
    if (!all_bound)
        sched_setaffinity(0, sizeof before, &before);
    return all_bound;
}

static void *map_area(const char *name, int flags, size_t bytes)
{
    int file = shm_open(name, flags, 0600);
    if (file < 0)
        return NULL;
    void *area = NULL;
    // Really reserved, so that a small /dev/shm is noticed here and not by a SIGBUS later.
    if (!(flags & O_CREAT) || posix_fallocate(file, 0, (off_t)bytes) == 0) {
        area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (area == MAP_FAILED)
            area = NULL;
    }
    close(file);
    return area;
}

void shared_open(Shared *shared)
{
    PMPI_Comm_dup(MPI_COMM_WORLD, &shared->control);
    PMPI_Comm_rank(shared->control, &shared->rank);
    PMPI_Comm_size(shared->control, &shared->ranks);
    shared->meetings = 0;

    look_at_machine(shared);

    shared->mapped = false;
    if (shared->nodes > 1)
        return;
    char name[64] = "";
    size_t bytes = area_bytes(shared->ranks);
    void *area = NULL;
    if (shared->rank == 0) {
        snprintf(name, sizeof name, "/fanlight-bench-%ld", (long)getpid());
        area = map_area(name, O_RDWR | O_CREAT | O_EXCL, bytes);
    }
    PMPI_Bcast(name, (int)sizeof name, MPI_CHAR, 0, shared->control);
    if (shared->rank != 0)
        area = map_area(name, O_RDWR, bytes);
    int mapped = area != NULL, all_mapped;
    PMPI_Allreduce(&mapped, &all_mapped, 1, MPI_INT, MPI_MIN, shared->control);
    if (shared->rank == 0)
        shm_unlink(name);
    if (!all_mapped) {
        if (area)
            munmap(area, bytes);
        return;
    }
    shared->entered = area;
    shared->signal = shared->entered + shared->ranks;
    shared->mark = shared->signal + shared->ranks;
    shared->desk = (Desk *)(shared->mark + shared->ranks);
    shared->data = (unsigned char *)(shared->desk + shared->ranks);
    shared->mapped = true;
}

void shared_close(Shared *shared)
{
    if (shared->mapped)
        munmap(shared->entered, area_bytes(shared->ranks));
    PMPI_Comm_free(&shared->control);
}

void shared_meet(Shared *shared, bool patient)
{
    if (!shared->mapped) {
        PMPI_Barrier(shared->control);
        return;
    }
    uint64_t meeting = ++shared->meetings;
    flag_set(&shared->entered[shared->rank], meeting);
    for (int other = 0; other < shared->ranks; ++other) {
        for (unsigned polls = 1; flag_get(&shared->entered[other]) < meeting; ++polls) {
            if (patient && polls > 100)
                nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            else if (shared->oversubscribed || polls > 2000)
                sched_yield();
            else
                cpu_pause();
            // Whom we wait for may still need the other half of a message from our MPI library.
            if (polls % 256 == 0) {
                int ignored;
                PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, shared->control, &ignored,
                            MPI_STATUS_IGNORE);
            }
        }
    }
}

double agreed_maximum(Shared *shared, double mine)
{
    double maximum = mine;
    if (!shared->mapped) {
        PMPI_Allreduce(&mine, &maximum, 1, MPI_DOUBLE, MPI_MAX, shared->control);
        return maximum;
    }
    // Nobody writes here again before all have entered the next meeting, having read this one's.
    int turn = (int)((shared->meetings + 1) % 2);
    shared->desk[shared->rank].number[turn] = mine;
    shared_meet(shared, false);
    for (int other = 0; other < shared->ranks; ++other)
        if (shared->desk[other].number[turn] > maximum)
            maximum = shared->desk[other].number[turn];
    return maximum;
}
