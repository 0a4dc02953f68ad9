// What a message between two nodes takes, by the MPI library's own send and receive.
#include "limits.h"
#include "statistics.h"

#include <stdlib.h>
#include <string.h>

enum { LINK_BLOCKS = 5, STREAM = 16, LONGEST = 1 << 20, TAG = 7 };

typedef struct Link {
    Shared *shared;
    int peer; // on another node; -1: this rank takes no part
    bool first;
    unsigned char *data;
} Link;

static void send_to(Link *l, size_t bytes) { PMPI_Send(l->data, (int)bytes, MPI_BYTE, l->peer, TAG, l->shared->control); }
static void receive_from(Link *l, size_t bytes)
{
    PMPI_Recv(l->data, (int)bytes, MPI_BYTE, l->peer, TAG, l->shared->control, MPI_STATUS_IGNORE);
}

// There and back.
static double round_trip(Link *l, size_t bytes, int calls)
{
    double begin = now();
    for (int i = 0; i < calls; ++i) {
        if (l->first)
            send_to(l, bytes);
        receive_from(l, bytes);
        if (!l->first)
            send_to(l, bytes);
    }
    return (now() - begin) / calls;
}

// Each of many that follow each other: what the first rank is busy with one, and until the last one is there.
static double stream(Link *l, size_t bytes, int calls, double *busy)
{
    double begin = now();
    for (int i = 0; i < calls; ++i) {
        if (l->first)
            send_to(l, bytes);
        else
            receive_from(l, bytes);
    }
    *busy = (now() - begin) / calls;
    if (l->first)
        receive_from(l, 0);
    else
        send_to(l, 0);
    return (now() - begin) / calls;
}

static void report(const Link *l, FILE *out, const char *name, size_t bytes, double *sample)
{
    if (!l->first)
        return;
    fprintf(out, "{\"type\":\"limit\",\"limit\":\"%s\",\"size\":%zu,\"time\":", name, bytes);
    statistics_write(out, statistics_of(sample, LINK_BLOCKS));
    fprintf(out, "}\n");
    fflush(out);
}

static void measure(Link *l, FILE *out)
{
    for (size_t bytes = 8; bytes <= LONGEST; bytes *= bytes < 1024 ? 128 : 4) {
        double there[LINK_BLOCKS], each[LINK_BLOCKS], busy[LINK_BLOCKS];
        int calls = bytes < 65536 ? 5 : 1, many = bytes < 65536 ? STREAM : 2;
        for (int b = -1; b < LINK_BLOCKS; ++b) { // block -1 makes the connection
            int at = b < 0 ? 0 : b;
            there[at] = round_trip(l, bytes, calls) / 2;
            each[at] = stream(l, bytes, many, &busy[at]);
        }
        report(l, out, "link_one_way", bytes, there);
        report(l, out, "link_busy", bytes, busy);
        report(l, out, "link_stream", bytes, each);
    }
}

void measure_link(Shared *shared, FILE *out)
{
    // Rank 0, and the first one that is not on its node.
    char name[MPI_MAX_PROCESSOR_NAME] = "", zero[MPI_MAX_PROCESSOR_NAME];
    int length, peer;
    PMPI_Get_processor_name(name, &length);
    memcpy(zero, name, sizeof zero);
    PMPI_Bcast(zero, (int)sizeof zero, MPI_CHAR, 0, shared->control);
    int other = strcmp(name, zero) == 0 ? shared->ranks : shared->rank;
    PMPI_Allreduce(&other, &peer, 1, MPI_INT, MPI_MIN, shared->control);
    if (peer == shared->ranks)
        return;
    Link link = {.shared = shared, .first = shared->rank == 0, .peer = shared->rank == 0 ? peer : shared->rank == peer ? 0 : -1};
    if (link.peer >= 0) {
        link.data = malloc(LONGEST);
        memset(link.data, 0, LONGEST);
        measure(&link, out);
        free(link.data);
    }
    shared_meet(shared, true);
}
