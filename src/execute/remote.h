// Runs schedules over messages or windows, between ranks that need not share a node.
//
//   RemoteGroup group(transport, size, waiter);
//   const RemotePlan plan = group.plan(algorithm, problem, members);  // all ranks
//   group.run(plan, input, output, combiner);                         // all ranks
//
// The members of a plan are some ranks of the communicator; the others run it as well, since
// what windows need (a fence, a barrier before an area is used again) is every rank's business.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "execute/exchange.h"
#include "execute/group.h"
#include "execute/wait.h"
#include "transport/remote.h"

namespace fanlight {

struct RemotePlan {
    const Algorithm* algorithm = nullptr;
    std::string name;
    std::size_t piece_bytes = 0;
    struct Part {
        Exchange exchange;
        std::size_t repeat = 1;
    };
    std::vector<Part> parts;  // as in Plan
};

class RemoteGroup {
public:
    // How it waits: as class Waiter has it.
    RemoteGroup(Transport, std::unique_ptr<RemoteTransport>, int ranks_on_node, Waiter::Hooks, int cores);

    // `members` are ranks of the communicator, the problem's ranks in their order; problem.rank
    // is -1 where this rank is none of them.  Throws std::invalid_argument, on all ranks alike,
    // where a restriction or the room in the windows forbids the problem.
    RemotePlan plan(const Algorithm&, const Problem&, std::span<const int> members) const;
    // `meanwhile` is done when all is sent that this rank has to send, before it waits for the rest.
    using Meanwhile = std::function<void()>;
    void run(const RemotePlan&, const void* input, void* output, const Combiner*, const Meanwhile& meanwhile = {});

private:
    Exchange piece(const Algorithm&, const Problem&, std::span<const int> members) const;
    std::size_t piece_bytes_for(const Algorithm&, const Problem&) const;
    void run_once(const Exchange&, const std::byte* input, std::byte* output, const Combiner*, const char* name,
                  const Meanwhile* meanwhile);

    Transport kind_;
    std::unique_ptr<RemoteTransport> transport_;
    Waiter waiter_;
    std::vector<std::byte> scratch_, incoming_;
};

}  // namespace fanlight
