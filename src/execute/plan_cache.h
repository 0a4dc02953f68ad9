// The plans of a group's calls, so that a call like an earlier one needs no new plan.
//
//   struct Found : Planned { ... };
//   PlanCache<Found> cache(most);
//   if (Found* f = cache.find(problem, rules)) ...
//   if (cache.is_full()) cache.clear();
//   Found& f = cache.keep(made);
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_set>
#include <utility>

#include "execute/plan.h"
#include "schedule/problem.h"

namespace fanlight {

// What a call is known by: its problem, but for what is the same in all of a group's, or follows from the rules.
bool is_same_call(const Problem&, const Problem&);
std::size_t hash_of_call(const Problem&);

struct Planned {
    Problem problem;
    Plan plan;
    const void* by = nullptr;  // PlanCache::keep
    std::size_t hash = 0;
    std::size_t steps() const;
};

template <class Call>
class PlanCache {
public:
    // A program whose messages have ever new lengths must not fill the memory with plans.
    PlanCache(std::size_t most_calls, std::size_t most_steps) : most_calls_(most_calls), most_steps_(most_steps) {}

    // `by`: the rules, or null where there are no others.  Null: there is none.
    Call* find(const Problem& problem, const void* by = nullptr) const {
        const auto it = calls_.find(Asked{problem, by, hash(problem, by)});
        return it == calls_.end() ? nullptr : it->get();
    }
    bool is_full() const { return calls_.size() >= most_calls_ || steps_ >= most_steps_; }
    void clear() {
        calls_.clear();
        steps_ = 0;
    }
    // In place of the one of the same problem, if there is one.
    Call& keep(std::shared_ptr<Call> call, const void* by = nullptr) {
        call->by = by;
        call->hash = hash(call->problem, by);
        steps_ += call->steps();
        calls_.erase(call);
        return **calls_.insert(std::move(call)).first;
    }
    // One that has blocks of other lengths from now on, for which there is none yet.
    void set_blocks(Call& call, const Problem& problem) {
        auto node = calls_.extract(calls_.find(Asked{call.problem, call.by, call.hash}));
        call.problem.blocks = problem.blocks;
        call.problem.sends = problem.sends;
        call.hash = hash(call.problem, call.by);
        calls_.insert(std::move(node));
    }

private:
    struct Asked {
        const Problem& problem;
        const void* by;
        std::size_t hash;
    };
    static std::size_t hash(const Problem& p, const void* by) { return hash_of_call(p) ^ std::hash<const void*>()(by); }
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const std::shared_ptr<Call>& c) const { return c->hash; }
        std::size_t operator()(const Asked& a) const { return a.hash; }
    };
    struct Same {
        using is_transparent = void;
        bool operator()(const std::shared_ptr<Call>& a, const std::shared_ptr<Call>& b) const {
            return a->by == b->by && is_same_call(a->problem, b->problem);
        }
        bool operator()(const Asked& a, const std::shared_ptr<Call>& b) const { return a.by == b->by && is_same_call(a.problem, b->problem); }
        bool operator()(const std::shared_ptr<Call>& a, const Asked& b) const { return (*this)(b, a); }
    };

    const std::size_t most_calls_, most_steps_;
    std::size_t steps_ = 0;
    std::unordered_set<std::shared_ptr<Call>, Hash, Same> calls_;
};

}  // namespace fanlight
