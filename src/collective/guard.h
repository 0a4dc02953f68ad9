// The guard (FANLIGHT_GUARD): while the program runs it compares what the rules chose with the MPI library's own, for each
// class of blocking calls on each communicator, and gives the class to the library if that is faster (docs/guard.md).
//
// No rank decides alone.  Which side serves a call follows from the call's number in its class, and from times that all
// ranks have combined at the same call.  So a class consists only of what all ranks know alike; lengths that only some
// know (gatherv, alltoallv, ...) are no part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "schedule/problem.h"
#include "select/comparison.h"
#include "select/select.h"

namespace fanlight {

class CommunicatorContext;

namespace guard {

// What calls must have in common.
struct Class {
    Operation operation{};
    int width = 0;  // of the bytes, as a binary number; -1: any
    std::string_view algorithm;
    bool commutative = true;

    Class(const Situation&, std::string_view algorithm);
    friend auto operator<=>(const Class&, const Class&) = default;
};

class Guard;

// Of one class on one communicator.
class Calls {
public:
    Calls(Guard& guard, const Class& c) : guard_(guard), class_(c) {}

    struct Turn {
        bool is_theirs;
        bool is_compared;  // then over() follows, by all ranks
    };
    // Of the next call.  Those whose result has the same bits whoever serves them are compared among
    // themselves.  The others are never theirs for the program: with is_theirs the MPI library's own is to be
    // timed beside Fanlight's, on other memory.
    Turn next(bool same_bits);
    void beside_begins();
    void beside_ends();
    void over();

    std::string found() const;

private:
    void tell(bool same_bits) const;

    Guard& guard_;
    const Class class_;
    Comparison comparisons_[2];  // by same_bits
    bool same_bits_ = true;      // of the call that is compared
    std::int64_t began_ = 0, ended_ = 0;
};

// Of one communicator.
class Guard {
public:
    // `switches`: what is found applies in this run.
    Guard(CommunicatorContext& context, bool switches, bool oversubscribed)
        : context(context), switches(switches), oversubscribed(oversubscribed) {}

    Calls* calls(const Class&);
    // What was found, as text; empty if nothing was.
    std::string found(const Class&) const;

    CommunicatorContext& context;
    const bool switches, oversubscribed;

private:
    std::map<Class, Calls> calls_;  // whose places stay
};

}  // namespace guard

}  // namespace fanlight
