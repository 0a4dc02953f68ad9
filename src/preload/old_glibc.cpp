// Functions that the C library has only since 2.32 and 2.33, so that 2.28 is enough.  (Those that an older one has in
// another of its files are taken from there: old_glibc.py.)
#include <features.h>

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The C library's struct stat is Linux's on machines of 64 bits, and stat64 is the same.
static_assert(sizeof(long) == 8 && sizeof(struct stat) == sizeof(struct stat64));

extern "C" {

// libstdc++ counts its references without atomic instructions where this is true.
char __libc_single_threaded = 0;

int stat(const char* path, struct stat* s) noexcept { return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, s, 0)); }
int fstat(int fd, struct stat* s) noexcept { return static_cast<int>(syscall(SYS_fstat, fd, s)); }
int fstat64(int fd, struct stat64* s) noexcept { return static_cast<int>(syscall(SYS_fstat, fd, s)); }

}  // extern "C"
#endif
