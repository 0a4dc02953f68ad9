#include "schedule/describe.h"

namespace fanlight {

std::string to_string(Buffer buffer) {
    switch (buffer) {
        case Buffer::input: return "input";
        case Buffer::output: return "output";
        case Buffer::scratch: return "scratch";
        case Buffer::unknown: return "unknown place";
    }
    return "?";
}

std::string describe(Address address, std::size_t bytes) {
    return to_string(address.buffer) + "[" + std::to_string(address.offset) + "," +
           std::to_string(address.offset + bytes) + ")";
}

std::string describe(const Step& step) {
    const std::string peer = "rank " + std::to_string(step.peer);
    const std::string from = describe(step.from, step.bytes);
    const std::string to = describe(step.to, step.bytes);
    std::string order;
    if (step.order == Order::before) order = ", combined before";
    if (step.order == Order::after) order = ", combined after";
    switch (step.kind) {
        case StepKind::put:
            if (step.bit) return "put to " + peer + " (a bit of its register)";
            return "put to " + peer + " (" + from + " into its " +
                   (step.to.buffer == Buffer::unknown ? to_string(step.to.buffer) : to) + ")";
        case StepKind::arrive:
            if (step.bit) return "arrive from " + peer + " (a bit of the register)";
            return "arrive from " + peer + " (" + to + order + ")";
        case StepKind::offer:
            return "offer " + std::to_string(step.offer) + " (" + from + ")";
        case StepKind::get:
            return "get from " + peer + " (its offer " + std::to_string(step.offer) + ", " + from +
                   " into " + to + order + ")";
        case StepKind::copy:
            return "copy (" + from + " into " + to + ")";
        case StepKind::combine:
            return "combine (" + from + " into " + to + order + ")";
    }
    return "?";
}

std::string place(int rank, std::size_t round) {
    return "rank " + std::to_string(rank) + ", round " + std::to_string(round);
}

}  // namespace fanlight
