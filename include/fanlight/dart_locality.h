/* DART's locality part: where units run, as a tree of domains.  Included by dart.h. */
#ifndef FANLIGHT_DART_LOCALITY_H
#define FANLIGHT_DART_LOCALITY_H

#include "fanlight/dart.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A scope that contains another has the smaller value, with two exceptions in a team's tree: packages and
 * caches are above the units that run in them, and a package or cache that has several NUMA domains is
 * above these. */
typedef enum {
    DART_LOCALITY_SCOPE_UNDEFINED = -1,
    DART_LOCALITY_SCOPE_GLOBAL = 0,
    DART_LOCALITY_SCOPE_GROUP = 1,
    DART_LOCALITY_SCOPE_NETWORK = 50,
    DART_LOCALITY_SCOPE_NODE = 100,
    DART_LOCALITY_SCOPE_MODULE = 200,
    DART_LOCALITY_SCOPE_NUMA = 300,
    DART_LOCALITY_SCOPE_UNIT = 400,
    DART_LOCALITY_SCOPE_PACKAGE = 500,
    DART_LOCALITY_SCOPE_UNCORE = 510,
    DART_LOCALITY_SCOPE_CACHE = 530,
    DART_LOCALITY_SCOPE_CORE = 550,
    DART_LOCALITY_SCOPE_CPU = 600
} dart_locality_scope_t;

#define DART_LOCALITY_HOST_MAX_SIZE ((int)(64))
#define DART_LOCALITY_DOMAIN_TAG_MAX_SIZE ((int)(32))
#define DART_LOCALITY_MAX_DOMAIN_SCOPES ((int)(12))
#define DART_LOCALITY_UNIT_MAX_CPUS ((int)(64))
#define DART_LOCALITY_MAX_NUMA_ID ((int)(16))
#define DART_LOCALITY_MAX_CACHE_LEVELS ((int)(5))

typedef struct {
    dart_locality_scope_t scope;
    int index;
} dart_locality_scope_pos_t;

/* -1: not known; for an id, that the unit is not bound to one. */
typedef struct {
    char host[DART_LOCALITY_HOST_MAX_SIZE];
    int num_cores;
    int num_numa;
    int numa_id;
    int num_sockets;
    int core_id;
    int cpu_id;
    int min_cpu_mhz;
    int max_cpu_mhz;
    int cache_sizes[DART_LOCALITY_MAX_CACHE_LEVELS];
    int cache_line_sizes[DART_LOCALITY_MAX_CACHE_LEVELS];
    int cache_ids[DART_LOCALITY_MAX_CACHE_LEVELS];
    int min_threads;
    int max_threads;
    int max_shmem_mbps;
    int system_memory_bytes;
    int numa_memory_bytes;
    dart_locality_scope_pos_t scopes[DART_LOCALITY_MAX_DOMAIN_SCOPES];
    int num_scopes;
} dart_hwinfo_t;

typedef struct {
    char host[DART_LOCALITY_HOST_MAX_SIZE];
    char module[DART_LOCALITY_HOST_MAX_SIZE];
    dart_locality_scope_pos_t pos;
} dart_module_location_t;

/* A domain: the units in some part of the machine, and the domains it consists of.  The tag of
 * the whole is ".", that of its second child ".1", of that one's first ".1.0".  Units that may run in
 * several packages or NUMA domains are in one that stands for these; they are in no cache that they
 * do not stay in.  Of caches in each other the scope CACHE finds the outermost. */
struct dart_domain_locality_s {
    char host[DART_LOCALITY_HOST_MAX_SIZE];
    char domain_tag[DART_LOCALITY_DOMAIN_TAG_MAX_SIZE];
    struct dart_domain_locality_s **aliases;
    int num_aliases;
    dart_locality_scope_t scope;
    int level;
    int global_index;
    int relative_index;
    struct dart_domain_locality_s *parent;
    int num_domains;
    struct dart_domain_locality_s **children;
    int is_symmetric;
    dart_team_t team;
    int num_units;
    dart_global_unit_t *unit_ids;
    int num_nodes;
    int node_id;
    int num_cores;
    int shared_mem_bytes;
};
typedef struct dart_domain_locality_s dart_domain_locality_t;

typedef struct {
    dart_team_unit_t unit;
    dart_team_t team;
    dart_hwinfo_t hwinfo;
    char domain_tag[DART_LOCALITY_DOMAIN_TAG_MAX_SIZE];
} dart_unit_locality_t;

/* Collective; dart_domain_team_locality and dart_unit_locality need it, except for all units. */
DART_EXPORT dart_ret_t dart_team_locality_init(dart_team_t team) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_team_locality_finalize(dart_team_t team) DART_NOTHROW;
/* Both point to what belongs to the team. */
DART_EXPORT dart_ret_t dart_domain_team_locality(dart_team_t team, const char *domain_tag,
                                                 dart_domain_locality_t **domain) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_unit_locality(dart_team_t team, dart_team_unit_t unit, dart_unit_locality_t **locality) DART_NOTHROW;

/* Trees of the program's own. */
DART_EXPORT dart_ret_t dart_domain_create(dart_domain_locality_t **domain) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_domain_clone(const dart_domain_locality_t *domain, dart_domain_locality_t **copy) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_domain_destroy(dart_domain_locality_t *domain) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_domain_assign(dart_domain_locality_t *to, const dart_domain_locality_t *from) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_domain_find(const dart_domain_locality_t *domain, const char *domain_tag,
                                        dart_domain_locality_t **found) DART_NOTHROW;
/* Keep what has, lies in, or contains one of the tags; remove what has or lies in one.  What is left
 * keeps its tag. */
DART_EXPORT dart_ret_t dart_domain_select(dart_domain_locality_t *domain, int num_tags, const char **tags) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_domain_exclude(dart_domain_locality_t *domain, int num_tags, const char **tags) DART_NOTHROW;
/* The subdomain then belongs to the domain. */
DART_EXPORT dart_ret_t dart_domain_add_subdomain(dart_domain_locality_t *domain, dart_domain_locality_t *subdomain,
                                                 int relative_index) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_domain_move_subdomain(dart_domain_locality_t *domain,
                                                  dart_domain_locality_t *new_parent, int relative_index) DART_NOTHROW;
/* The domain num_parts times, each time with a part of what is at the scope; `split` is an array of so
 * many, which need not have been initialized. */
DART_EXPORT dart_ret_t dart_domain_split_scope(const dart_domain_locality_t *domain, dart_locality_scope_t scope,
                                               int num_parts, dart_domain_locality_t *split) DART_NOTHROW;
/* Arrays, and strings, for free(); the domains are the tree's. */
DART_EXPORT dart_ret_t dart_domain_scope_tags(const dart_domain_locality_t *domain, dart_locality_scope_t scope,
                                              int *count, char ***tags) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_domain_scope_domains(const dart_domain_locality_t *domain, dart_locality_scope_t scope,
                                                 int *count, dart_domain_locality_t ***domains) DART_NOTHROW;
/* Puts these domains below a new one, which is the last child of the nearest that contains them all;
 * its tag is written, and the others keep theirs. */
DART_EXPORT dart_ret_t dart_domain_group(dart_domain_locality_t *domain, int count, const char **tags,
                                         char *group_tag) DART_NOTHROW;
DART_EXPORT dart_ret_t dart_group_locality_split(const dart_group_t group, dart_domain_locality_t *domain,
                                                 dart_locality_scope_t scope, size_t n, size_t *nout,
                                                 dart_group_t *parts) DART_NOTHROW;

#ifdef __cplusplus
}
#endif
#endif
