#include "topology/single_copy.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace fanlight {
namespace {

std::uint64_t cookie = 0x0123456789abcdef;

// Runs `body` in a child that is a copy of this process, so that `cookie` lies at the same
// address there.
template <class Body>
int in_child(Body&& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

TEST(SingleCopy, ReadsAChild) {
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    const SingleCopyProbe probe = probe_single_copy(child, &cookie, cookie);
    // The process is there and its number, but not this one.
    const SingleCopyProbe other = probe_single_copy(child, &cookie, cookie + 1);
    const SingleCopyProbe nowhere = probe_single_copy(child, nullptr, 0);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (!probe.allowed) GTEST_SKIP() << probe.why_not;
    EXPECT_TRUE(contains(other.why_not, "another one")) << other.why_not;
    EXPECT_TRUE(contains(nowhere.why_not, "Bad address")) << nowhere.why_not;
    EXPECT_FALSE(other.allowed);
    EXPECT_FALSE(nowhere.allowed);
    EXPECT_FALSE(probe_single_copy(child, &cookie, cookie).allowed);
    EXPECT_TRUE(contains(probe_single_copy(child, &cookie, cookie).why_not, "No such process"));
}

TEST(SingleCopy, AnotherUserMayNot) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    const pid_t parent = getpid();
    if (const SingleCopyProbe own = probe_single_copy(parent, &cookie, cookie); !own.allowed) GTEST_SKIP() << own.why_not;
    EXPECT_EQ(in_child([&] {
        if (setgid(1) != 0 || setuid(1) != 0) return 1;
        const SingleCopyProbe probe = probe_single_copy(parent, &cookie, cookie);
        return !probe.allowed && contains(probe.why_not, "Operation not permitted (") ? 0 : 2;
    }), 0);
}

void test_forbidden(unsigned system_call) {
    const pid_t parent = getpid();
    const int result = in_child([&] {
        sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, system_call, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        sock_fprog filter{4, code};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
            return 77;
        return probe_single_copy(parent, &cookie, cookie).allowed ? 1 : 0;
    });
    if (result == 77) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(result, 0);
}

TEST(SingleCopy, SeccompForbidsReading) { test_forbidden(__NR_process_vm_readv); }
TEST(SingleCopy, SeccompForbidsWriting) { test_forbidden(__NR_process_vm_writev); }

}  // namespace
}  // namespace fanlight
