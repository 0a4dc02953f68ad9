// Global memory: every unit (an MPI process) contributes a part of its memory, and all others read
// and write it with one-sided operations.  Inside a node these are loads and stores, with no MPI
// call; between nodes they are MPI RMA.  The program has nothing to do with epochs and windows.
//
// No mpi.h is needed.  Link libdart-fanlight-<abi>.so of the MPI that the program uses.
//
// A blocking put is ordered as a store of this processor is: whoever learns of it afterwards
// (a notification, a barrier, a flag that is put later) sees it.  flush orders it before
// everything that follows.
//
// Every function returns FANLIGHT_OK or an error code; fanlight_message() describes the error.
// Misuse is found before anything is done.  With MPI_THREAD_MULTIPLE all functions may be called
// by several threads; collective ones by one thread at a time for each team, and one
// notification (peer, index) belongs to one thread at a time on each side.
#ifndef FANLIGHT_GLOBAL_H
#define FANLIGHT_GLOBAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FANLIGHT_API __attribute__((visibility("default")))
#else
#define FANLIGHT_API
#endif

typedef enum fanlight_code {
    FANLIGHT_OK = 0,
    FANLIGHT_ERR_STATE,     // not initialized, or something still in use
    FANLIGHT_ERR_ARGUMENT,  // a null pointer, a wrong size, an unknown operator
    FANLIGHT_ERR_TEAM,      // no such team, or this unit is not in it
    FANLIGHT_ERR_UNIT,      // no such unit in the team
    FANLIGHT_ERR_SEGMENT,   // the segment has been freed, or never existed
    FANLIGHT_ERR_RANGE,     // the access leaves the segment
    FANLIGHT_ERR_HANDLE,    // the handle is finished, or never existed
    FANLIGHT_ERR_MEMORY,    // no memory left
    FANLIGHT_ERR_MPI        // the MPI library failed
} fanlight_code;

// Describes the error of this thread's last call that failed.
FANLIGHT_API const char *fanlight_message(void);

// ---- start and end ------------------------------------------------------------------------

// Collective over MPI_COMM_WORLD.  Initializes MPI, with MPI_THREAD_MULTIPLE, if the program
// has not; fanlight_exit then finalizes it.  May be called several times; call exit as often.
FANLIGHT_API fanlight_code fanlight_init(void);
FANLIGHT_API fanlight_code fanlight_exit(void);
FANLIGHT_API int fanlight_initialized(void);

// ---- teams --------------------------------------------------------------------------------

typedef int32_t fanlight_team;
#define FANLIGHT_TEAM_ALL ((fanlight_team)0)
#define FANLIGHT_TEAM_NULL ((fanlight_team)-1)

FANLIGHT_API fanlight_code fanlight_team_size(fanlight_team team, int *size);
FANLIGHT_API fanlight_code fanlight_team_unit(fanlight_team team, int *unit);
// Collective over the parent; `units` are the parent's, in the order of the new team.  Units
// that are not named get FANLIGHT_TEAM_NULL.
FANLIGHT_API fanlight_code fanlight_team_create(fanlight_team parent, const int *units, int count,
                                                fanlight_team *team);
// Collective: units of one color form a team, in the order of their keys; a unit with a negative
// color joins none.
FANLIGHT_API fanlight_code fanlight_team_split(fanlight_team parent, int color, int key,
                                               fanlight_team *team);
// Collective; everything that was allocated on the team must have been freed.
FANLIGHT_API fanlight_code fanlight_team_free(fanlight_team *team);
// The number in `to` of a unit of `from`; -1 where it is not in it.
FANLIGHT_API fanlight_code fanlight_team_translate(fanlight_team from, int unit, fanlight_team to,
                                                   int *translated);
FANLIGHT_API fanlight_code fanlight_team_barrier(fanlight_team team);

// Where a unit runs.  -1: not known, as for the core of a unit that is not bound to one.
typedef struct fanlight_locality {
    int node;     // numbered from 0 over all units
    int package;  // the processor (socket) on the node
    int numa;
    int core;     // counted on the node
    int direct;   // 1: this unit reaches the memory that unit allocates by loads and stores
} fanlight_locality;
FANLIGHT_API fanlight_code fanlight_unit_locality(fanlight_team team, int unit,
                                                  fanlight_locality *locality);

// ---- memory -------------------------------------------------------------------------------

// 128 bits.  `unit` counts in the team of the segment.
typedef struct fanlight_pointer {
    int32_t unit;
    int32_t segment;
    uint64_t offset;
} fanlight_pointer;
#define FANLIGHT_POINTER_NULL_INIT {-1, -1, 0}

static inline fanlight_pointer fanlight_at(fanlight_pointer p, int unit, uint64_t offset)
{
    p.unit = unit;
    p.offset = offset;
    return p;
}
static inline fanlight_pointer fanlight_add(fanlight_pointer p, int64_t bytes)
{
    p.offset += (uint64_t)bytes;
    return p;
}

// Collective on the team, the same `bytes` everywhere; `pointer` is the start of unit 0's part.
// alignment: a power of two up to 4096; 0 for 128.
FANLIGHT_API fanlight_code fanlight_allocate(fanlight_team team, size_t bytes, size_t alignment,
                                             fanlight_pointer *pointer);
// Collective: registers memory of the program, whose length may differ from unit to unit.
FANLIGHT_API fanlight_code fanlight_register(fanlight_team team, void *address, size_t bytes,
                                             fanlight_pointer *pointer);
// Collective: frees what was allocated, or ends a registration, when all units have called it.
FANLIGHT_API fanlight_code fanlight_free(fanlight_pointer pointer);
// Not collective: allocates from this unit's pool of FANLIGHT_LOCAL_MEMORY bytes, which all units
// reach.  The pointer's unit counts in FANLIGHT_TEAM_ALL.
FANLIGHT_API fanlight_code fanlight_local_allocate(size_t bytes, fanlight_pointer *pointer);
FANLIGHT_API fanlight_code fanlight_local_free(fanlight_pointer pointer);

// The address at which this process reaches it by loads and stores, or null.
FANLIGHT_API void *fanlight_ptr(fanlight_pointer pointer);
FANLIGHT_API fanlight_code fanlight_segment_team(fanlight_pointer pointer, fanlight_team *team);

// ---- put and get --------------------------------------------------------------------------

FANLIGHT_API fanlight_code fanlight_put(fanlight_pointer to, const void *from, size_t bytes);
FANLIGHT_API fanlight_code fanlight_get(void *to, fanlight_pointer from, size_t bytes);

// Begin an operation, which is complete after a flush.
FANLIGHT_API fanlight_code fanlight_put_begin(fanlight_pointer to, const void *from, size_t bytes);
FANLIGHT_API fanlight_code fanlight_get_begin(void *to, fanlight_pointer from, size_t bytes);

// Complete the operations on this segment and unit, or on this segment and all units.  After the
// local forms `from` may be changed and `to` may be read.
FANLIGHT_API fanlight_code fanlight_flush(fanlight_pointer pointer);
FANLIGHT_API fanlight_code fanlight_flush_all(fanlight_pointer pointer);
FANLIGHT_API fanlight_code fanlight_flush_local(fanlight_pointer pointer);
FANLIGHT_API fanlight_code fanlight_flush_local_all(fanlight_pointer pointer);

// Begin an operation, which is complete after a wait or a successful test.  Both then set the handle
// to null; it is null at once if the operation was complete at once.  A null handle is complete; a
// copy of a finished handle is an error.
typedef uint64_t fanlight_handle;
#define FANLIGHT_HANDLE_NULL ((fanlight_handle)0)

FANLIGHT_API fanlight_code fanlight_put_handle(fanlight_pointer to, const void *from, size_t bytes,
                                               fanlight_handle *handle);
FANLIGHT_API fanlight_code fanlight_get_handle(void *to, fanlight_pointer from, size_t bytes,
                                               fanlight_handle *handle);
FANLIGHT_API fanlight_code fanlight_wait(fanlight_handle *handle);
FANLIGHT_API fanlight_code fanlight_wait_local(fanlight_handle *handle);
FANLIGHT_API fanlight_code fanlight_waitall(fanlight_handle *handles, size_t count);
FANLIGHT_API fanlight_code fanlight_waitall_local(fanlight_handle *handles, size_t count);
FANLIGHT_API fanlight_code fanlight_test(fanlight_handle *handle, int *done);
FANLIGHT_API fanlight_code fanlight_test_local(fanlight_handle *handle, int *done);
FANLIGHT_API fanlight_code fanlight_testall(fanlight_handle *handles, size_t count, int *done);
FANLIGHT_API fanlight_code fanlight_testall_local(fanlight_handle *handles, size_t count, int *done);
// Gives up the handle; a flush still completes the operation.
FANLIGHT_API fanlight_code fanlight_handle_free(fanlight_handle *handle);

// `count` blocks of `block` bytes, whose starts are `to_stride` and `from_stride` bytes apart.
FANLIGHT_API fanlight_code fanlight_put_strided(fanlight_pointer to, size_t to_stride, const void *from,
                                                size_t from_stride, size_t block, size_t count);
FANLIGHT_API fanlight_code fanlight_get_strided(void *to, size_t to_stride, fanlight_pointer from,
                                                size_t from_stride, size_t block, size_t count);
// Piece i has lengths[i] bytes and lies at offsets[i] from the global pointer; on the local side
// the pieces follow each other.
FANLIGHT_API fanlight_code fanlight_put_indexed(fanlight_pointer to, const void *from, size_t count,
                                                const size_t *lengths, const size_t *offsets);
FANLIGHT_API fanlight_code fanlight_get_indexed(void *to, fanlight_pointer from, size_t count,
                                                const size_t *lengths, const size_t *offsets);

// ---- notifications ------------------------------------------------------------------------

// put_notify puts, then notifies the target: its next wait for this unit and index returns, and
// the bytes are there.  Notifications are counted: none is lost, and each lets one wait return.
#define FANLIGHT_NOTIFICATIONS 16
FANLIGHT_API fanlight_code fanlight_put_notify(fanlight_pointer to, const void *from, size_t bytes,
                                               int index);
FANLIGHT_API fanlight_code fanlight_notify(fanlight_team team, int unit, int index);
FANLIGHT_API fanlight_code fanlight_wait_notify(fanlight_team team, int unit, int index);
FANLIGHT_API fanlight_code fanlight_test_notify(fanlight_team team, int unit, int index, int *there);

// ---- atomic operations --------------------------------------------------------------------

typedef enum fanlight_type {
    FANLIGHT_INT8, FANLIGHT_UINT8, FANLIGHT_INT16, FANLIGHT_UINT16, FANLIGHT_INT32, FANLIGHT_UINT32,
    FANLIGHT_INT64, FANLIGHT_UINT64, FANLIGHT_FLOAT, FANLIGHT_DOUBLE, FANLIGHT_LONG_DOUBLE
} fanlight_type;

typedef enum fanlight_operator {
    FANLIGHT_MIN, FANLIGHT_MAX, FANLIGHT_SUM, FANLIGHT_PROD, FANLIGHT_BAND, FANLIGHT_LAND, FANLIGHT_BOR,
    FANLIGHT_LOR, FANLIGHT_BXOR, FANLIGHT_LXOR, FANLIGHT_REPLACE, FANLIGHT_NO_OP
} fanlight_operator;

// Atomic for each element, with respect to all atomic operations of the same type; the pointer must
// be aligned to the element.  accumulate is complete after a flush, the other two when they return.
FANLIGHT_API fanlight_code fanlight_accumulate(fanlight_pointer to, const void *values, size_t count,
                                               fanlight_type type, fanlight_operator op);
FANLIGHT_API fanlight_code fanlight_fetch_and_op(fanlight_pointer to, const void *value, void *before,
                                                 fanlight_type type, fanlight_operator op);
// Integers only.
FANLIGHT_API fanlight_code fanlight_compare_and_swap(fanlight_pointer to, const void *value,
                                                     const void *compare, void *before,
                                                     fanlight_type type);

// ---- locks --------------------------------------------------------------------------------

typedef struct fanlight_lock_object *fanlight_lock;
#define FANLIGHT_LOCK_NULL ((fanlight_lock)0)

// create and free are collective on the team.  One thread of one unit holds a lock at a time; those
// that wait get it in the order in which they came.
FANLIGHT_API fanlight_code fanlight_lock_create(fanlight_team team, fanlight_lock *lock);
FANLIGHT_API fanlight_code fanlight_lock_free(fanlight_lock *lock);
FANLIGHT_API fanlight_code fanlight_lock_acquire(fanlight_lock lock);
FANLIGHT_API fanlight_code fanlight_lock_try(fanlight_lock lock, int *acquired);
FANLIGHT_API fanlight_code fanlight_lock_release(fanlight_lock lock);

// ---- collective operations on global memory -----------------------------------------------

// All units of the segment's team must call them, with the same segments, numbers and offsets (but see
// allgather); the units in the pointers are ignored.  Inside a node Fanlight's algorithms serve them, and each byte is
// copied once, straight from part to part.  A unit contributes what is in its part when it calls:
// earlier puts into it must have completed.  When the call returns, this unit's part may be read and
// written again.

// Copies the root's bytes to the same place in all parts.
FANLIGHT_API fanlight_code fanlight_global_broadcast(fanlight_pointer data, size_t bytes, int root);
// In all parts, the u-th block of `bytes` bytes after `to` becomes unit u's block at `from`.  In place, `from`
// is on each unit u, at an offset of its own, the u-th block after `to`; otherwise the two must not overlap.
FANLIGHT_API fanlight_code fanlight_global_allgather(fanlight_pointer to, fanlight_pointer from, size_t bytes);
// Unit u's v-th block after `from` becomes unit v's u-th block after `to`; they must not overlap.
FANLIGHT_API fanlight_code fanlight_global_alltoall(fanlight_pointer to, fanlight_pointer from, size_t bytes);
// The result goes to the root's part only.  `to` may be `from`; otherwise the two must not overlap.
// Operators: FANLIGHT_MIN to FANLIGHT_LXOR.
FANLIGHT_API fanlight_code fanlight_global_reduce(fanlight_pointer to, fanlight_pointer from, size_t count,
                                           fanlight_type type, fanlight_operator op, int root);
// The result goes to all parts, with the same bits.  `to` may be `from`; otherwise the two must not
// overlap.  Operators: FANLIGHT_MIN to FANLIGHT_LXOR.
FANLIGHT_API fanlight_code fanlight_global_allreduce(fanlight_pointer to, fanlight_pointer from, size_t count,
                                              fanlight_type type, fanlight_operator op);

#ifdef __cplusplus
}
#endif

#include "fanlight/global_inline.h"
#endif
