// Bytes in flight over what several share: caches, memory, links.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fanlight {

// Alone each flow would go at the pace of what is slowest for it.  Where all that use a resource would take more of
// it than there is, each goes the slower by as much; a flow goes at the pace of what is most crowded for it.
class Flows {
public:
    // In bytes per second; 0: no limit.
    explicit Flows(std::vector<double> capacities) : capacities_(std::move(capacities)), load_(capacities_.size(), 0) {}

    struct Use {
        std::uint32_t resource;
        double bytes;
    };
    // `token` is given back at its end.
    void begin(double now, std::span<const Use>, std::uint64_t token);
    // When the next one ends, if none is added before.
    double next_end();
    // Takes out those that end at that time.
    void end(double now, std::vector<std::uint64_t>& tokens);

private:
    struct Part {
        std::uint32_t resource;
        double share;  // of the resource, when it goes at full speed
    };
    struct Flow {
        double left;  // seconds at full speed
        double rate = 1;
        std::uint64_t token;
        std::vector<Part> parts;
    };
    void move_to(double now);

    std::vector<double> capacities_, load_;
    std::vector<Flow> flows_;
    double now_ = 0, next_ = std::numeric_limits<double>::infinity();
    bool changed_ = false;
};

}  // namespace fanlight
