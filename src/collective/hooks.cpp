#include "collective/hooks.h"

#include <unistd.h>

#include <csignal>

#include "collective/library.h"
#include "collective/progress.h"
#include "collective/requests.h"

namespace fanlight {

void say(const std::string& message) {
    const std::string line = (message.starts_with("fanlight: ") ? "" : "fanlight: ") + message + "\n";
    // write(2): one line stays one line, also when all ranks speak at once.
    if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

void stop(const std::string& message) {
    say(message);
    // MPICH's mpiexec may leave unread what was written right before an abort.
    ::usleep(50'000);
    // MPI_Abort may itself wait for a rank that is no more.
    std::signal(SIGALRM, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    ::alarm(5);
    mpi().Abort(MPI_COMM_WORLD, 1);
    ::_exit(1);
}

Waiter::Hooks waiting_hooks() {
    return {[] {
                Polled polled = progress();
                if (requests::progress()) polled.worked = true;
                return polled;
            },
            stop, say};
}

}  // namespace fanlight
