// Starts children that are no MPI programs: they inherit the preload, and need no MPI library.
#include <sys/wait.h>

#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int i = 0; i < 20; ++i) {
        checked_allreduce(MPI_COMM_WORLD, i, 4);
        const int status = system("exit 7");
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    FILE *maps = popen("cat /proc/self/maps", "r");
    REQUIRE(maps);
    char line[4096];
    int of_mpi = 0, preloads = 0;
    while (fgets(line, sizeof line, maps)) {
        const char *name = strrchr(line, '/');
        if (!name) continue;
        of_mpi += strncmp(name, "/libmpi", 7) == 0;
        preloads += strncmp(name, "/libfanlight-", 13) == 0;
    }
    REQUIRE(pclose(maps) == 0);
    REQUIRE(of_mpi == 0 && (preloads > 0 || !getenv("LD_PRELOAD")));
    return done();
}
