// Whether the ranks of a group call the same collectives, in the same order and of the same lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "execute/called.h"
#include "transport/shared.h"

namespace fanlight {

class Lockstep {
public:
    Lockstep(const SharedSlots& slots, int rank, int size) : shared_slots_(slots), rank_(rank), size_(size) {}

    // Operation `taken` is this one here, for the others to see.
    void record_call(std::uint64_t taken, std::uint64_t called) const {
        SharedSlots::Called& mine = shared_slots_.called(rank_, taken);
        if (load(mine.taken) == taken + 1 && load(mine.what) == called) return;
        store(mine.taken, 0);  // until `what` is there
        store(mine.what, called);
        store(mine.taken, taken + 1);
    }
    // It is none yet: what was recorded was never started.
    void forget_call(std::uint64_t taken) const { store(shared_slots_.called(rank_, taken).taken, 0); }
    // Throws MismatchedCollectives when another one is in this very operation by another call.
    void compare(std::uint64_t taken);
    // Who finds it is the reader, or the writer of a block that is written straight into the other's memory.
    // `more_sent`, `more_expected`: there is more than that.
    [[noreturn]] void wrong_length(int peer, bool peer_sends, std::size_t sent, std::size_t expected, const char* name,
                                   bool more_sent = false, bool more_expected = false);
    // This member can take part no more: the others find it where they wait.
    [[noreturn]] void leave(const std::string& message);
    // Why nothing is run any more; empty as long as all is well.
    const std::string& why() const { return why_; }
    void check() const {
        if (!why_.empty()) [[unlikely]] throw MismatchedCollectives(why_);
    }

private:
    const SharedSlots& shared_slots_;
    const int rank_, size_;
    std::string why_;
};

}  // namespace fanlight
