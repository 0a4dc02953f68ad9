// What every test of the collectives uses: the payload, the buffers with their guards, what a
// datatype looks like in memory, and the counting of checks and failures.
//
// A check compares a whole buffer (guards, gaps between the elements, blocks that must stay as
// they are) with an image of what it must hold afterwards.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if MPI_VERSION >= 4
#define HAVE_LARGE_COUNTS 1
#else
#define HAVE_LARGE_COUNTS 0
#endif

enum { MAX_PARTS = 8, MAX_RANKS = 64, BACK_TO_BACK = 3 };

// A communicator under test.
struct scope {
    const char *name;
    MPI_Comm comm;
    int rank, size;
};
struct scope scope_of(const char *name, MPI_Comm comm);

// A datatype: where the parts of its signature lie, in the order of the type map.
struct part {
    int at, bytes;
};
struct layout {
    const char *name;
    MPI_Datatype type;
    int parts;
    struct part part[MAX_PARTS];
    MPI_Aint extent;
};
void complete_layout(struct layout *);  // commits the type and asks for its extent

// A buffer between guards, filled with poison.
struct area {
    unsigned char *base;  // with the guards
    size_t bytes;
    unsigned char *at;  // what an MPI call gets: item 0
};
struct area new_area(const struct layout *, MPI_Count items);
struct area copy_area(const struct area *);
void free_area(struct area *);

// The value of element `index` of rank `source` in call number `call`.
static inline uint64_t payload(int source, uint64_t index, unsigned call) {
    uint64_t x = index * 0x9e3779b97f4a7c15u + (uint64_t)(source + 1) * 0xd1b54a32d192ed03u +
                 call * 0x8cb92ba72f3d8dd7u;
    x ^= x >> 32;
    x *= 0xff51afd7ed558ccdu;
    return x ^ (x >> 29);
}
// Writes the payload of `parts` elements from index `first` on into items of the layout,
// beginning with item `item`.
void write_payload(const struct area *, const struct layout *, MPI_Count item, MPI_Count parts,
                   int source, uint64_t first, unsigned call);

// Counting.  A failure is said once for each kind; the program goes on.
void check(bool good, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_area(const struct area *got, const struct area *expected, const char *kind,
                const char *what);
void must(int code, const char *call);  // an MPI call that is no part of the test
int finish(void);  // sums up over all ranks, prints `ok <checks>`; the exit status

// Options.
extern bool quick, huge, plain, commutative;
// Whence buffers come: malloc, MPI_Alloc_mem, or the one and the other in turn, on other ranks in another order.
extern enum memory { OF_MALLOC, OF_MPI, OF_BOTH } memory;
bool wanted(const char *operation);
// With --plain what the MPI libraries themselves do wrong is left out.
bool wrong_in_mpi(bool defect);

// The tests.
void make_layouts(void);
void free_layouts(void);
void test_movement(const struct scope *, bool all);
void make_reductions(void);
void free_reductions(void);
void test_reductions(const struct scope *, bool all);
void test_same_bits(const struct scope *);
void test_barrier(const struct scope *);
void test_neighbors(const struct scope *world);
void test_in_turn(const struct scope *, int scopes);  // several communicators, call by call
