// killed_as_it_begins RANK STEPS: this rank is killed (tools/killer.c) so many steps after it has begun the communicator's
// first collectives, with which Fanlight begins to serve it.  "ok" where there are not so many steps.
#include <dlfcn.h>

#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    REQUIRE(argc > 2);
    int *const steps_to_live = dlsym(RTLD_DEFAULT, "steps_to_live");
    REQUIRE(steps_to_live);
    if (rank == atoi(argv[1])) *steps_to_live = atoi(argv[2]);
    for (int i = 0; i < 3; ++i) checked_allreduce(MPI_COMM_WORLD, i, 1);
    *steps_to_live = -1;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "/dev/shm/fanlight-")) {
            printf("rank %d has memory in /dev/shm\n", rank), fflush(stdout);
            break;
        }
    fclose(maps);
    return done();
}
