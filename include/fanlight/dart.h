/* The DART interface, version 4, on Fanlight's global memory: what DASH programs call.
 *
 * Names, types, values and meanings are DART's.  Units, groups and teams: a unit is an MPI
 * process; a group is a local set of units; a team is collective.  Blocking put and get are
 * loads and stores inside a node.  An error is returned, and printed on standard error.
 *
 * DASH includes its files one by one as <dash/dart/if/dart_*.h>: cmake/dash_headers.cmake makes
 * these names of it.
 */
#ifndef FANLIGHT_DART_H
#define FANLIGHT_DART_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
#define DART_NOTHROW __attribute__((nothrow))
extern "C" {
#else
#define DART_NOTHROW
#endif
#define DART_MAYBE_UNUSED __attribute__((unused))
#define DART_INLINE static inline DART_MAYBE_UNUSED
#define DART_EXPORT __attribute__((visibility("default")))

#define DART_VERSION_STR "4.0.0"
#define DART_BUILD_STR (__DATE__ " " __TIME__)

/* ---- types ------------------------------------------------------------------------------- */

typedef enum {
    DART_OK = 0,
    DART_PENDING = 1,
    DART_ERR_INVAL = 2,    /* a wrong argument */
    DART_ERR_NOTFOUND = 3,
    DART_ERR_NOTINIT = 4,  /* before dart_init or after dart_exit */
    DART_ERR_NOMEM = 5,    /* no memory left */
    DART_ERR_OTHER = 999
} dart_ret_t;

enum { DART_EXIT_SUCCESS = EXIT_SUCCESS, DART_EXIT_ABORT = EXIT_FAILURE, DART_EXIT_ASSERT = -6 };

/* Operators; those that dart_op_create makes are other values. */
typedef intptr_t dart_operation_t;
#define DART_OP_UNDEFINED ((dart_operation_t)0)
#define DART_OP_MIN ((dart_operation_t)1)
#define DART_OP_MAX ((dart_operation_t)2)
#define DART_OP_MINMAX ((dart_operation_t)3) /* pairs: the least of the first, the greatest of the second */
#define DART_OP_SUM ((dart_operation_t)4)
#define DART_OP_PROD ((dart_operation_t)5)
#define DART_OP_BAND ((dart_operation_t)6)
#define DART_OP_LAND ((dart_operation_t)7)
#define DART_OP_BOR ((dart_operation_t)8)
#define DART_OP_LOR ((dart_operation_t)9)
#define DART_OP_BXOR ((dart_operation_t)10)
#define DART_OP_LXOR ((dart_operation_t)11)
#define DART_OP_REPLACE ((dart_operation_t)12)
#define DART_OP_NO_OP ((dart_operation_t)13)
#define DART_OP_LAST ((dart_operation_t)14)
enum { DART_OP_MINMAX_MIN = 0, DART_OP_MINMAX_MAX = 1 };

/* inout[i] = in[i] op inout[i] for len elements. */
typedef void (*dart_operator_t)(const void *in, void *inout, size_t len, void *userdata);

/* Types; those that dart_type_create_* make are other values. */
typedef intptr_t dart_datatype_t;
#define DART_TYPE_UNDEFINED ((dart_datatype_t)0)
#define DART_TYPE_BYTE ((dart_datatype_t)1)
#define DART_TYPE_SHORT ((dart_datatype_t)2)
#define DART_TYPE_INT ((dart_datatype_t)3)
#define DART_TYPE_UINT ((dart_datatype_t)4)
#define DART_TYPE_LONG ((dart_datatype_t)5)
#define DART_TYPE_ULONG ((dart_datatype_t)6)
#define DART_TYPE_LONGLONG ((dart_datatype_t)7)
#define DART_TYPE_ULONGLONG ((dart_datatype_t)8)
#define DART_TYPE_FLOAT ((dart_datatype_t)9)
#define DART_TYPE_DOUBLE ((dart_datatype_t)10)
#define DART_TYPE_LONG_DOUBLE ((dart_datatype_t)11)
#define DART_TYPE_LAST ((dart_datatype_t)12)
#if SIZE_MAX == UINT64_MAX
#define DART_TYPE_SIZET DART_TYPE_ULONGLONG
#else
#define DART_TYPE_SIZET DART_TYPE_ULONG
#endif

/* Units: a number, and the same number as one of all units or of a team. */
typedef int32_t dart_unit_t;
#define DART_UNDEFINED_UNIT_ID ((dart_unit_t)(-1))

#ifdef __cplusplus
#define FANLIGHT_DART_UNIT(name)                                     \
    constexpr name() : id(DART_UNDEFINED_UNIT_ID) {}                 \
    constexpr name(dart_unit_t unit) : id(unit) {}
#else
#define FANLIGHT_DART_UNIT(name)
#endif
typedef struct dart_global_unit {
    FANLIGHT_DART_UNIT(dart_global_unit)
    dart_unit_t id;
} dart_global_unit_t;
typedef struct dart_local_unit {
    FANLIGHT_DART_UNIT(dart_local_unit)
    dart_unit_t id;
} dart_team_unit_t;
#undef FANLIGHT_DART_UNIT

DART_INLINE dart_team_unit_t dart_create_team_unit(dart_unit_t unit)
{
    dart_team_unit_t made = {unit};
    return made;
}
DART_INLINE dart_global_unit_t dart_create_global_unit(dart_unit_t unit)
{
    dart_global_unit_t made = {unit};
    return made;
}
#define DART_TEAM_UNIT_ID(unit) (dart_create_team_unit(unit))
#define DART_GLOBAL_UNIT_ID(unit) (dart_create_global_unit(unit))
#define DART_UNDEFINED_TEAM_UNIT_ID DART_TEAM_UNIT_ID(DART_UNDEFINED_UNIT_ID)
#define DART_UNDEFINED_GLOBAL_UNIT_ID DART_GLOBAL_UNIT_ID(DART_UNDEFINED_UNIT_ID)

typedef int16_t dart_team_t;
#define DART_UNDEFINED_TEAM_ID ((dart_team_t)(-1))
#define DART_TEAM_ALL ((dart_team_t)0)
#define DART_TEAM_NULL ((dart_team_t)-1)

typedef enum { DART_THREAD_SINGLE = 0, DART_THREAD_MULTIPLE = 10 } dart_thread_support_level_t;

typedef struct {
    int log_enabled;
} dart_config_t;

/* ---- start and end ----------------------------------------------------------------------- */

DART_EXPORT dart_ret_t dart_init(int *argc, char ***argv) DART_NOTHROW;
/* thread_safety: what there is, DART_THREAD_MULTIPLE where the MPI library gives it. */
DART_EXPORT dart_ret_t dart_init_thread(int *argc, char ***argv,
                                        dart_thread_support_level_t *thread_safety) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_exit(void) DART_NOTHROW;
DART_EXPORT bool dart_initialized(void) DART_NOTHROW;
DART_EXPORT void dart_abort(int errorcode) __attribute__((noreturn));
DART_EXPORT void dart_config(dart_config_t **config) DART_NOTHROW;

/* ---- types and operators of the program --------------------------------------------------- */

/* The base types are basic or custom. */

/* Blocks of `blocklen` elements, the starts `stride` elements apart. */
DART_EXPORT dart_ret_t dart_type_create_strided(dart_datatype_t basetype, size_t stride, size_t blocklen,
                                                dart_datatype_t *newtype);
/* Block i has blocklen[i] elements and begins at element offset[i].  Where the type is repeated, the next one begins as
 * many elements later as there are from its first to its last, as in MPI. */
DART_EXPORT dart_ret_t dart_type_create_indexed(dart_datatype_t basetype, size_t count, const size_t blocklen[],
                                                const size_t offset[], dart_datatype_t *newtype);
/* Elements of so many bytes that only operators of the program understand. */
DART_EXPORT dart_ret_t dart_type_create_custom(size_t num_bytes, dart_datatype_t *newtype);
DART_EXPORT dart_ret_t dart_type_destroy(dart_datatype_t *type);

/* For reduce, allreduce and exscan, and one datatype.  dtype_is_tmp: the type is destroyed before
 * the operator. */
DART_EXPORT dart_ret_t dart_op_create(dart_operator_t op, void *userdata, bool commute, dart_datatype_t dtype,
                                      bool dtype_is_tmp, dart_operation_t *new_op);
DART_EXPORT dart_ret_t dart_op_destroy(dart_operation_t *op);

/* ---- groups: local, their units by rising number ------------------------------------------ */

typedef struct dart_group_struct *dart_group_t;
#define DART_GROUP_NULL ((struct dart_group_struct *)NULL)
struct dart_domain_locality_s;

DART_EXPORT dart_ret_t dart_group_create(dart_group_t *group) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_destroy(dart_group_t *group) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_clone(const dart_group_t group, dart_group_t *copy) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_union(const dart_group_t a, const dart_group_t b, dart_group_t *result) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_intersect(const dart_group_t a, const dart_group_t b,
                                            dart_group_t *result) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_addmember(dart_group_t group, dart_global_unit_t unit) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_delmember(dart_group_t group, dart_global_unit_t unit) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_ismember(const dart_group_t group, dart_global_unit_t unit,
                                           int32_t *ismember) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_size(const dart_group_t group, size_t *size) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_getmembers(const dart_group_t group, dart_global_unit_t *units) DART_NOTHROW;
/* Into at most n parts of nearly one size. */
DART_EXPORT dart_ret_t dart_group_split(const dart_group_t group, size_t n, size_t *nout,
                                        dart_group_t *parts) DART_NOTHROW;

/* ---- teams -------------------------------------------------------------------------------- */

DART_EXPORT dart_ret_t dart_team_get_group(dart_team_t team, dart_group_t *group) DART_NOTHROW;
/* Collective over `team`; units outside the group get DART_TEAM_NULL.  The new team's units are
 * in the order of their global numbers. */
DART_EXPORT dart_ret_t dart_team_create(dart_team_t team, const dart_group_t group, dart_team_t *newteam) DART_NOTHROW;
/* Collective, with all memory of the team. */
DART_EXPORT dart_ret_t dart_team_destroy(dart_team_t *team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_team_clone(dart_team_t team, dart_team_t *newteam) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_team_myid(dart_team_t team, dart_team_unit_t *myid) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_team_size(dart_team_t team, size_t *size) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_myid(dart_global_unit_t *myid) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_size(size_t *size) DART_NOTHROW;
/* Between a team's numbers and those of all units; DART_UNDEFINED_UNIT_ID: not in the team. */
DART_EXPORT dart_ret_t dart_team_unit_l2g(dart_team_t team, dart_team_unit_t local,
                                          dart_global_unit_t *global) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_team_unit_g2l(dart_team_t team, dart_global_unit_t global,
                                          dart_team_unit_t *local) DART_NOTHROW;

/* ---- global memory ------------------------------------------------------------------------ */

/* 128 bits; `unitid` counts in the team `teamid`. */
typedef struct {
    dart_unit_t unitid : 24;
    unsigned int flags : 8;
    int16_t segid;
    int16_t teamid;
    union {
        uint64_t offset;
        void *addr;
    } addr_or_offs;
} dart_gptr_t;

#ifdef __cplusplus
#define DART_GPTR_NULL (dart_gptr_t{-1, 0, 0, DART_TEAM_NULL, {0}})
#else
#define DART_GPTR_NULL \
    ((dart_gptr_t){.unitid = -1, .flags = 0, .segid = 0, .teamid = DART_TEAM_NULL, .addr_or_offs = {.offset = 0}})
#endif
#define DART_GPTR_ISNULL(p) \
    ((p).unitid < 0 && (p).segid == 0 && (p).teamid == DART_TEAM_NULL && (p).addr_or_offs.offset == 0)
#define DART_GPTR_EQUAL(p, q)                                                                   \
    ((p).unitid == (q).unitid && (p).segid == (q).segid && (p).teamid == (q).teamid &&          \
     (p).addr_or_offs.offset == (q).addr_or_offs.offset)
/* The segment of dart_memalloc. */
#define DART_SEGMENT_LOCAL ((int16_t)0)

/* The address of memory of this unit; null for another's. */
DART_EXPORT dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void **addr) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_gptr_setaddr(dart_gptr_t *gptr, void *addr) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_gptr_getflags(dart_gptr_t gptr, uint16_t *flags) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_gptr_setflags(dart_gptr_t *gptr, uint16_t flags) DART_NOTHROW;
DART_INLINE DART_NOTHROW dart_ret_t dart_gptr_incaddr(dart_gptr_t *gptr, int64_t offs)
{
    gptr->addr_or_offs.offset += (uint64_t)offs;
    return DART_OK;
}
DART_INLINE DART_NOTHROW dart_ret_t dart_gptr_setunit(dart_gptr_t *gptr, dart_team_unit_t unit)
{
    gptr->unitid = unit.id;
    return DART_OK;
}

/* Not collective: of this unit's own. */
DART_EXPORT dart_ret_t dart_memalloc(size_t nelem, dart_datatype_t dtype, dart_gptr_t *gptr) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_memfree(dart_gptr_t gptr) DART_NOTHROW;
/* Collective; the pointer is to unit 0's part.  All parts are as long as the longest that a unit wants. */
DART_EXPORT dart_ret_t dart_team_memalloc_aligned(dart_team_t team, size_t nelem, dart_datatype_t dtype,
                                                  dart_gptr_t *gptr) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_team_memfree(dart_gptr_t gptr) DART_NOTHROW;
/* Collective: memory of the program; _aligned: as much on all units. */
DART_EXPORT dart_ret_t dart_team_memregister_aligned(dart_team_t team, size_t nelem, dart_datatype_t dtype,
                                                     void *addr, dart_gptr_t *gptr) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_team_memregister(dart_team_t team, size_t nelem, dart_datatype_t dtype, void *addr,
                                             dart_gptr_t *gptr) DART_NOTHROW;
/* By each unit when it likes: its memory may then be freed. */
DART_EXPORT dart_ret_t dart_team_memderegister(dart_gptr_t gptr) DART_NOTHROW;

/* A pool in global memory of which each unit takes pieces of its own part. */
typedef struct dart_allocator_struct *dart_allocator_t;
DART_EXPORT dart_ret_t dart_allocator_new(size_t pool_size, dart_team_t team, dart_allocator_t *allocator) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_allocator_alloc(size_t nelem, dart_datatype_t dtype, dart_gptr_t *gptr,
                                            dart_allocator_t allocator) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_allocator_free(dart_gptr_t *gptr, dart_allocator_t allocator) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_allocator_destroy(dart_allocator_t *allocator) DART_NOTHROW;

/* ---- one-sided communication --------------------------------------------------------------- */

/* nelem counts elements of the base types, which must be the same on both sides, or custom types of the same number of
 * bytes. */

/* Complete after a flush. */
DART_EXPORT dart_ret_t dart_get(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
                                dart_datatype_t dst_type) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_put(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
                                dart_datatype_t dst_type) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_flush(dart_gptr_t gptr) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_flush_all(dart_gptr_t gptr) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_flush_local(dart_gptr_t gptr) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_flush_local_all(dart_gptr_t gptr) DART_NOTHROW;

DART_EXPORT dart_ret_t dart_get_blocking(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
                                         dart_datatype_t dst_type) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_put_blocking(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
                                         dart_datatype_t dst_type) DART_NOTHROW;

/* Complete after a wait, or a test that says so; the handle is then null, and is so from the start
 * where the operation was complete at once. */
typedef struct dart_handle_struct *dart_handle_t;
#define DART_HANDLE_NULL ((dart_handle_t)NULL)
DART_EXPORT dart_ret_t dart_get_handle(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
                                       dart_datatype_t dst_type, dart_handle_t *handle) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_put_handle(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
                                       dart_datatype_t dst_type, dart_handle_t *handle) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_wait(dart_handle_t *handle) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_waitall(dart_handle_t handles[], size_t n) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_wait_local(dart_handle_t *handle) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_waitall_local(dart_handle_t handles[], size_t n) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_test(dart_handle_t *handle, int32_t *finished) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_testall(dart_handle_t handles[], size_t n, int32_t *finished) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_test_local(dart_handle_t *handle, int32_t *finished) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_testall_local(dart_handle_t handles[], size_t n, int32_t *finished) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_handle_free(dart_handle_t *handle) DART_NOTHROW;

/* Atomic for each element. */
DART_EXPORT dart_ret_t dart_accumulate(dart_gptr_t gptr, const void *values, size_t nelem, dart_datatype_t dtype,
                                       dart_operation_t op) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_accumulate_blocking_local(dart_gptr_t gptr, const void *values, size_t nelem,
                                                      dart_datatype_t dtype, dart_operation_t op) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_fetch_and_op(dart_gptr_t gptr, const void *value, void *result, dart_datatype_t dtype,
                                         dart_operation_t op) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_compare_and_swap(dart_gptr_t gptr, const void *value, const void *compare, void *result,
                                             dart_datatype_t dtype) DART_NOTHROW;

/* ---- collective communication --------------------------------------------------------------- */

DART_EXPORT dart_ret_t dart_barrier(dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_bcast(void *buf, size_t nelem, dart_datatype_t dtype, dart_team_unit_t root,
                                  dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_scatter(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype,
                                    dart_team_unit_t root, dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_gather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype,
                                   dart_team_unit_t root, dart_team_t team) DART_NOTHROW;
/* sendbuf null or the same as recvbuf: in place. */
DART_EXPORT dart_ret_t dart_allgather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype,
                                      dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_allgatherv(const void *sendbuf, size_t nsendelem, dart_datatype_t dtype, void *recvbuf,
                                       const size_t *nrecvelem, const size_t *recvdispls, dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_allreduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype,
                                      dart_operation_t op, dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_alltoall(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype,
                                     dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_alltoallv(const void *sendbuf, void *recvbuf, size_t *send_counts, size_t *send_displ,
                                      size_t *recv_counts, size_t *recv_displ, dart_datatype_t dtype,
                                      dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_exscan(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype,
                                   dart_operation_t op, dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_reduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype,
                                   dart_operation_t op, dart_team_unit_t root, dart_team_t team) DART_NOTHROW;

/* ---- two-sided communication, among all units ------------------------------------------------ */

DART_EXPORT dart_ret_t dart_send(const void *sendbuf, size_t nelem, dart_datatype_t dtype, int tag,
                                 dart_global_unit_t unit) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_recv(void *recvbuf, size_t nelem, dart_datatype_t dtype, int tag,
                                 dart_global_unit_t unit) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_sendrecv(const void *sendbuf, size_t send_nelem, dart_datatype_t send_dtype, int send_tag,
                                     dart_global_unit_t dest, void *recvbuf, size_t recv_nelem,
                                     dart_datatype_t recv_dtype, int recv_tag, dart_global_unit_t src) DART_NOTHROW;

/* ---- locks: held by one thread of one unit ---------------------------------------------------- */

typedef struct dart_lock_struct *dart_lock_t;
#define DART_LOCK_NULL ((dart_lock_t)NULL)
DART_EXPORT dart_ret_t dart_team_lock_init(dart_team_t team, dart_lock_t *lock) DART_NOTHROW;
/* Collective, and sets *lock to null; a null lock, or one that has gone with its team, is destroyed already. */
DART_EXPORT dart_ret_t dart_team_lock_destroy(dart_lock_t *lock) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_lock_acquire(dart_lock_t lock) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_lock_try_acquire(dart_lock_t lock, int32_t *result) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_lock_release(dart_lock_t lock) DART_NOTHROW;
DART_EXPORT bool dart_lock_initialized(struct dart_lock_struct const *lock) DART_NOTHROW;

#ifdef __cplusplus
}
#endif

#include "fanlight/dart_locality.h"

#endif
