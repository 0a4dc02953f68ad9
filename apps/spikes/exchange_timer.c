/* How long a program's spike exchanges take, as the program sees it.
 *
 * Loaded by LD_PRELOAD before everything else, with Fanlight's preload behind it or without:
 * the same clock around the same calls for both.  An exchange is an MPI_Allgather and the
 * MPI_Allgatherv that may follow it.
 *
 * One binary for every MPI: on x86-64 and AArch64 an int handle (MPICH) and a pointer
 * (Open MPI) travel in the same registers and stack slots, so that all are passed on as
 * pointers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { most = 1 << 20 };
static double seconds[most];
static size_t exchanges;

void exchange_timer_reset(void) { exchanges = 0; }
size_t exchange_timer_count(void) { return exchanges < most ? exchanges : most; }
const double *exchange_timer_seconds(void) { return seconds; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The next library's function: Fanlight's, or the MPI library's, which NEURON loads late. */
static void *next(const char *name, const char *profiling_name) {
    void *f = dlsym(RTLD_NEXT, name);
    if (!f) f = dlsym(RTLD_DEFAULT, profiling_name);
    if (!f) {
        fprintf(stderr, "exchange_timer: %s not found\n", profiling_name);
        abort();
    }
    return f;
}

typedef int Allgather(const void *, void *, void *, void *, void *, void *, void *);
typedef int Allgatherv(const void *, void *, void *, void *, const void *, const void *, void *, void *);

int MPI_Allgather(const void *in, void *in_count, void *in_type, void *out, void *out_count,
                  void *out_type, void *comm) {
    static Allgather *f;
    if (!f) f = (Allgather *)next("MPI_Allgather", "PMPI_Allgather");
    const double start = now();
    const int result = f(in, in_count, in_type, out, out_count, out_type, comm);
    if (exchanges < most) seconds[exchanges] = now() - start;
    ++exchanges;
    return result;
}

int MPI_Allgatherv(const void *in, void *in_count, void *in_type, void *out, const void *out_counts,
                   const void *displacements, void *out_type, void *comm) {
    static Allgatherv *f;
    if (!f) f = (Allgatherv *)next("MPI_Allgatherv", "PMPI_Allgatherv");
    const double start = now();
    const int result = f(in, in_count, in_type, out, out_counts, displacements, out_type, comm);
    if (exchanges > 0 && exchanges <= most) seconds[exchanges - 1] += now() - start;
    return result;
}
