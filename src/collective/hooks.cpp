#include "collective/hooks.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "collective/library.h"
#include "collective/progress.h"
#include "collective/report.h"
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

Waiter::Hooks waiting_hooks(std::vector<int> world_ranks) {
    Waiter::Hooks hooks{[] {
                            Polled polled = progress();
                            if (requests::progress()) polled.worked = true;
                            return polled;
                        },
                        stop, say};
    if (report::on())
        hooks.waited = [ranks = std::move(world_ranks)](int peer, std::int64_t begun, std::int64_t ended) {
            const bool known = peer >= 0 && static_cast<std::size_t>(peer) < ranks.size();
            report::waited(known ? ranks[static_cast<std::size_t>(peer)] : -1, begun, ended);
        };
    return hooks;
}

}  // namespace fanlight
