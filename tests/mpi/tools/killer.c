// Kills the process at one of the system calls by which memory is shared: that before which the program's
// `steps_to_live` is 0.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

int steps_to_live = -1;  // for ever

static void step(void) {
    if (steps_to_live == 0) raise(SIGKILL);
    if (steps_to_live > 0) --steps_to_live;
}

#define STEP(type, name, parameters, ...)                              \
    type name parameters {                                             \
        static type(*next) parameters;                                 \
        if (!next) next = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
        step();                                                        \
        return next(__VA_ARGS__);                                      \
    }
STEP(int, memfd_create, (const char *name, unsigned flags), name, flags)
STEP(int, shm_open, (const char *name, int flags, mode_t mode), name, flags, mode)
STEP(int, shm_unlink, (const char *name), name)
STEP(int, ftruncate, (int file, off_t bytes), file, bytes)
STEP(int, posix_fallocate, (int file, off_t from, off_t bytes), file, from, bytes)
STEP(ssize_t, readlink, (const char *path, char *text, size_t bytes), path, text, bytes)
STEP(void *, mmap, (void *at, size_t bytes, int protection, int flags, int file, off_t from), at, bytes, protection, flags, file, from)
STEP(int, munmap, (void *at, size_t bytes), at, bytes)
STEP(int, close, (int file), file)
