// A unit that is late for its team's first collective is watched by the others as well.
#include "check.h"
#include "fanlight/fanlight.h"

#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

static int late;

// Fanlight's too.  What a late unit tells the others is nobody's, as if it had ended.
pid_t getpid(void)
{
    if (!late)
        return (pid_t)syscall(SYS_getpid);
    usleep(200000);
    return INT_MAX;
}

int main(void)
{
    int me;
    fanlight_pointer p;
    DO(fanlight_init());
    DO(fanlight_team_unit(FANLIGHT_TEAM_ALL, &me));
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 8, 0, &p));
    late = me == 1;
    DO(fanlight_global_broadcast(p, 8, 1));
    late = 0;
    if (me == 1)
        usleep(2000000);
    DO(fanlight_global_broadcast(p, 8, 1));
    printf("unit %d has seen nothing\n", me);
    DO(fanlight_exit());
    return 0;
}
