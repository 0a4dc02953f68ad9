// Writes a schedule step by step: steps go into the current round until next_round().
#pragma once

#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight {

class Builder {
public:
    explicit Builder(const Problem&);

    void put(int peer, Address from, Address to, std::size_t bytes);
    void arrive(int peer, Address to, std::size_t bytes, Order order = Order::overwrite);
    // A put and an arrive of no bytes that may be a bit of the peer's, of this rank's, register.
    void set_bit(int peer);
    void await_bit(int peer);
    // Returns the offer's number, which the readers' gets name.
    int offer(Address from, std::size_t bytes, std::span<const int> readers);
    int offer_to(int reader, Address from, std::size_t bytes);
    int offer_to_all_others(Address from, std::size_t bytes);
    void get(int peer, int offer, Address from, Address to, std::size_t bytes,
             Order order = Order::overwrite);
    void copy(Address from, Address to, std::size_t bytes);
    void combine(Address from, Address to, std::size_t bytes, Order order);

    // Ends the current round; an empty one is not recorded.
    void next_round();
    // Reserves scratch, 64-byte aligned; the result is its offset.
    Address reserve(std::size_t bytes);
    Schedule finish();

    // Gives the memory of a schedule that is no longer needed to the next one of this thread.
    static void recycle(Schedule&&);

private:
    Step& add(StepKind kind);
    const Problem& problem_;
    Schedule schedule_;
};

}  // namespace fanlight
