#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, POISON = 0xa5, MAX_KINDS = 256 };

static long checks, failures;
static const char *kinds[MAX_KINDS];
static int kinds_seen;

struct scope scope_of(const char *name, MPI_Comm comm) {
    struct scope scope = {name, comm, 0, 0};
    must(MPI_Comm_rank(comm, &scope.rank), "MPI_Comm_rank");
    must(MPI_Comm_size(comm, &scope.size), "MPI_Comm_size");
    return scope;
}

void complete_layout(struct layout *layout) {
    MPI_Aint lower;
    must(MPI_Type_commit(&layout->type), "MPI_Type_commit");
    must(MPI_Type_get_extent(layout->type, &lower, &layout->extent), "MPI_Type_get_extent");
}

// Before it lies where it came from.
enum { HEAD = 64 };

static unsigned char *new_memory(size_t bytes) {
    static int number, rank = -1;
    if (rank < 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const bool of_mpi = memory == OF_MPI || (memory == OF_BOTH && (number++ + rank) % 2);
    unsigned char *all = NULL;
    if (of_mpi) must(MPI_Alloc_mem((MPI_Aint)(bytes + HEAD), MPI_INFO_NULL, &all), "MPI_Alloc_mem");
    else all = malloc(bytes + HEAD);
    if (!all) {
        fprintf(stderr, "out of memory: %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    all[0] = of_mpi;
    return all + HEAD;
}

static void free_memory(unsigned char *block) {
    if (!block) return;
    unsigned char *all = block - HEAD;
    if (all[0]) must(MPI_Free_mem(all), "MPI_Free_mem");
    else free(all);
}

struct area new_area(const struct layout *layout, MPI_Count items) {
    int low = layout->part[0].at, high = low + layout->part[0].bytes;
    for (int i = 1; i < layout->parts; ++i) {
        const struct part *part = &layout->part[i];
        if (part->at < low) low = part->at;
        if (part->at + part->bytes > high) high = part->at + part->bytes;
    }
    size_t data = items > 0 ? (size_t)((items - 1) * layout->extent) + (size_t)(high - low) : 0;
    struct area area = {new_memory(data + 2 * GUARD), data + 2 * GUARD, NULL};
    memset(area.base, POISON, area.bytes);
    area.at = area.base + GUARD - low;
    return area;
}

struct area copy_area(const struct area *area) {
    struct area copy = {new_memory(area->bytes), area->bytes, NULL};
    memcpy(copy.base, area->base, area->bytes);
    copy.at = copy.base + (area->at - area->base);
    return copy;
}

void free_area(struct area *area) {
    free_memory(area->base);
    area->base = NULL;
}

#define WRITE(type)                                                      \
    for (MPI_Count i = 0; i < items; ++i) {                              \
        type value = (type)payload(source, first + (uint64_t)i * step, call); \
        memcpy(to + i * extent, &value, sizeof value);                   \
    }

void write_payload(const struct area *area, const struct layout *layout, MPI_Count item,
                   MPI_Count parts, int source, uint64_t first_index, unsigned call) {
    const MPI_Count items = parts / layout->parts;
    const MPI_Aint extent = layout->extent;
    const uint64_t step = (uint64_t)layout->parts;
    for (int p = 0; p < layout->parts; ++p) {
        unsigned char *to = area->at + item * extent + layout->part[p].at;
        const uint64_t first = first_index + (uint64_t)p;
        switch (layout->part[p].bytes) {
            case 1: WRITE(uint8_t) break;
            case 2: WRITE(uint16_t) break;
            case 4: WRITE(uint32_t) break;
            default: WRITE(uint64_t) break;
        }
    }
}

static bool first_of_kind(const char *kind) {
    for (int i = 0; i < kinds_seen; ++i)
        if (!strcmp(kinds[i], kind)) return false;
    if (kinds_seen == MAX_KINDS) return false;
    kinds[kinds_seen++] = strdup(kind);
    return true;
}

void check(bool good, const char *kind, const char *format, ...) {
    ++checks;
    if (good) return;
    ++failures;
    if (!first_of_kind(kind)) return;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "WRONG %s: world rank %d: %s\n", kind, rank, text);
}

void check_area(const struct area *got, const struct area *expected, const char *kind,
                const char *what) {
    if (!memcmp(got->base, expected->base, got->bytes)) {
        ++checks;
        return;
    }
    size_t first = 0, wrong = 0;
    for (size_t i = got->bytes; i-- > 0;)
        if (got->base[i] != expected->base[i]) first = i, ++wrong;
    const char *where = first < GUARD                   ? "in the guard before the data"
                        : first >= got->bytes - GUARD   ? "in the guard after the data"
                        : got->base[first] == POISON    ? "never written"
                        : expected->base[first] == POISON ? "written where nothing belongs"
                                                        : "other data";
    check(false, kind, "%s: %zu of %zu bytes differ, the first at byte %zd (0x%02x, not 0x%02x; %s)",
          what, wrong, got->bytes - 2 * GUARD, (ptrdiff_t)first - GUARD, got->base[first],
          expected->base[first], where);
}

void must(int code, const char *call) {
    if (code == MPI_SUCCESS) return;
    fprintf(stderr, "%s: error %d\n", call, code);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

// By messages, since the collectives are what is under test.
int finish(void) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long sum[2] = {checks, failures}, other[2];
    for (int r = 1; r < size && rank == 0; ++r) {
        must(MPI_Recv(other, 2, MPI_LONG, r, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
        sum[0] += other[0];
        sum[1] += other[1];
    }
    if (rank) must(MPI_Send(sum, 2, MPI_LONG, 0, 99, MPI_COMM_WORLD), "MPI_Send");
    for (int r = 1; r < size && rank == 0; ++r)
        must(MPI_Send(sum, 2, MPI_LONG, r, 98, MPI_COMM_WORLD), "MPI_Send");
    if (rank)
        must(MPI_Recv(sum, 2, MPI_LONG, 0, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
    if (rank == 0 && sum[1]) printf("WRONG %ld of %ld\n", sum[1], sum[0]);
    if (rank == 0 && !sum[1]) printf("ok %ld\n", sum[0]);
    fflush(NULL);
    return sum[1] != 0;
}
