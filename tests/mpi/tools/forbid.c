// forbid WHAT program ...: runs it where system calls fail with EPERM, as under a container's seccomp filter.
//   single-copy   process_vm_readv, process_vm_writev
//   memfd         memfd_create
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const int single_copy = argc > 2 && strcmp(argv[1], "single-copy") == 0;
    if (argc < 3 || (!single_copy && strcmp(argv[1], "memfd") != 0)) return fprintf(stderr, "usage: forbid single-copy|memfd program ...\n"), 2;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, single_copy ? SYS_process_vm_readv : SYS_memfd_create, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, single_copy ? SYS_process_vm_writev : SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return perror("seccomp"), 77;
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
