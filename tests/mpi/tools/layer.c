// A layer between a program and an MPI library, as MPItrampoline, Mukautuva and Wi4MPI are: it exports
// MPI's names with handles of its own, and runs on the real library, which it loads for itself.
//
//   LAYER_VERSION           what MPI_Get_library_version says, in place of the real library's words
//   -DLAYER_OF_OPENMPI      its handles have the names that Open MPI's have
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

// What the program sees.  The handles are addresses of these.
struct handle {
    char any[64];
};
#if defined(LAYER_OF_OPENMPI)
struct handle ompi_mpi_comm_world, ompi_mpi_comm_null, ompi_mpi_int, ompi_mpi_op_sum;
#define NAME(layer, openmpi) openmpi
#else
struct handle layer_world, layer_null, layer_int, layer_sum;
#define NAME(layer, openmpi) layer
#endif
typedef struct handle *Handle;

static void *real(const char *name) {
    static void *library;
    if (!library) library = dlopen(getenv("LAYER_ON"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    void *const found = library ? dlsym(library, name) : NULL;
    if (!found) abort();
    return found;
}
#define REAL(name) ((__typeof__(&MPI_##name))real("PMPI_" #name))

// Whatever is no handle of the layer's ends the program, as it does there.
static MPI_Comm comm_of(Handle h) { return h == &NAME(layer_world, ompi_mpi_comm_world) ? MPI_COMM_WORLD : (abort(), MPI_COMM_NULL); }

#define EXPORT(declaration, name, ...)                                    \
    int layer_##name declaration __asm__("PMPI_" #name);                  \
    int program_##name declaration __asm__("MPI_" #name) __attribute__((alias("PMPI_" #name))); \
    int layer_##name declaration { __VA_ARGS__ }

EXPORT((int *argc, char ***argv), Init, return REAL(Init)(argc, argv);)
EXPORT((void), Finalize, return REAL(Finalize)();)
EXPORT((int *flag), Initialized, return REAL(Initialized)(flag);)
EXPORT((int *flag), Finalized, return REAL(Finalized)(flag);)
EXPORT((Handle comm, int *rank), Comm_rank, return REAL(Comm_rank)(comm_of(comm), rank);)
EXPORT((Handle comm, int *size), Comm_size, return REAL(Comm_size)(comm_of(comm), size);)
EXPORT((Handle comm), Barrier, return REAL(Barrier)(comm_of(comm));)
EXPORT((Handle *parent), Comm_get_parent, *parent = &NAME(layer_null, ompi_mpi_comm_null); return MPI_SUCCESS;)
EXPORT((const void *in, void *out, int n, Handle type, Handle op, Handle comm), Allreduce,
       if (type != &NAME(layer_int, ompi_mpi_int) || op != &NAME(layer_sum, ompi_mpi_op_sum)) abort();
       return REAL(Allreduce)(in, out, n, MPI_INT, MPI_SUM, comm_of(comm));)
EXPORT((char *text, int *length), Get_library_version,
       const char *const own = getenv("LAYER_VERSION");
       if (!own) return REAL(Get_library_version)(text, length);
       *length = (int)strlen(strcpy(text, own));
       return MPI_SUCCESS;)
