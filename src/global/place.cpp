#include "global/place.h"

#include <unistd.h>

#include "topology/cores.h"
#include "topology/machine.h"

namespace fanlight::global {

Place own_place() {
    Place place;
    ::gethostname(place.host, sizeof place.host - 1);
    place.machine = machine_number();
    place.pid_namespace = pid_namespace();
    place.pid = ::getpid();
    const Cpus cpus = own_cpus();
    const Processors machine = read_machine();
    // A unit that may run in several is in none of them.
    const auto number = [&](const std::vector<CpuGroup>& groups) {
        const CpuGroup* const group = group_of(groups, cpus);
        return group ? group->number : -1;
    };
    place.package = number(machine.packages);
    place.numa = number(machine.numas);
    place.core = number(machine.cores);
    if (cpus.size() == 1) place.cpu = cpus.front();
    return place;
}

}  // namespace fanlight::global
