// The operations that are measured: how each is called by either side, and what it must give.
#ifndef FANLIGHT_BENCH_OPERATIONS_H
#define FANLIGHT_BENCH_OPERATIONS_H

#include "shared.h"

typedef enum Side { NATIVE, FANLIGHT, SIDES } Side;

typedef struct Call {
    MPI_Comm comm;
    int rank, ranks, root;
    int count; // elements of the vector, or of each rank's block
    MPI_Datatype type;
    void *send, *receive;
    const int *counts, *displacements; // for the v forms: all blocks alike, one after the other
    MPI_Comm ring;                     // periodic, one-dimensional; for the neighborhoods
    // Whose block arrives at either place, and which of its two.
    struct {
        int rank, block;
    } from[2];
} Call;

typedef struct Operation {
    const char *name, *collective;    // the second of iallreduce is allreduce
    int (*call[SIDES])(const Call *); // PMPI_Xxx, MPI_Xxx
    struct {
        const char *name;
        int (*call[SIDES])(const Call *);
    } waited_for; // the non-blocking one, and MPI_Wait
    bool by_default;
    bool has_size;
    bool reduces;
    bool rooted;
    // No rank leaves before all have entered. If not, some ranks of a tight loop run ahead.
    bool synchronizes;
    // Whether the buffer holds a block for every rank, for both neighbors on the ring or one alone;
    // 0: the operation has none.
    enum { NOTHING, ONE, BOTH, EVERY } send, receive;
} Operation;

extern const Operation operations[];
extern const int operation_count;

// Also the non-blocking ones, which are not in the table by themselves: iallreduce.
const Operation *operation_named(const char *name);
bool on_ring(const Operation *operation);

// 64, 16K or 4M.
bool parse_bytes(const char *text, size_t *bytes);
// 8,1K,64K: multiples of 8, up to 1 GiB. How many; 0 where the text is wrong, or names more than `most`.
int parse_sizes(char *text, size_t *sizes, int most);

// All ranks call it.
void make_ring(Call *call);

// Bytes of a rank's buffers for this size, without the guard.
size_t send_bytes(const Operation *operation, size_t size, int ranks);
size_t receive_bytes(const Operation *operation, size_t size, int ranks);
#define BENCH_GUARD 64

// Fills the send buffer with a function of (this rank, index, call), poisons the receive buffer.
void prepare(const Operation *operation, const Call *call, int number);

// Sets type, counts and displacements for a call of `size` bytes.
void set_size(const Operation *operation, Call *call, size_t size);

// Nobody may leave a barrier before all have entered: every rank in turn is late.  barrier_enter is called before
// the barrier; barrier_early, after it, returns how many ranks had not entered yet.
void barrier_enter(const Shared *shared, int number);
long barrier_early(const Shared *shared, int number);

// How many words of this rank's receive buffer and the guard behind it are wrong.
long wrong_words(const Operation *operation, const Call *call, int number);

#endif
