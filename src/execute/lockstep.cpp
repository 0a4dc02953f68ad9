#include "execute/lockstep.h"

namespace fanlight {

void Lockstep::compare(std::uint64_t taken) {
    const SharedSlots::Called& mine = shared_slots_.called(rank_, taken);
    if (load(mine.taken) != taken + 1) return;  // not begun
    for (int r = 0; r < size_; ++r) {
        if (load(shared_slots_.member(r).mismatched))
            leave("rank " + std::to_string(r) + " takes no part in this communicator's collectives any more: its own message says why");
        const SharedSlots::Called& theirs = shared_slots_.called(r, taken);
        // It may be writing the next one down there, between any two looks.
        if (load(theirs.taken) != taken + 1) continue;
        const std::uint64_t what = load(theirs.what);
        if (load(theirs.taken) != taken + 1 || what == load(mine.what)) continue;
        leave("rank " + std::to_string(r) + " calls " + call_text(what) + " where rank " + std::to_string(rank_) + " calls " +
              call_text(load(mine.what)));
    }
}

void Lockstep::wrong_length(int peer, bool peer_sends, std::size_t sent, std::size_t expected, const char* name, bool more_sent, bool more_expected) {
    const auto says = [&](bool sends) { return "rank " + std::to_string(sends == peer_sends ? peer : rank_); };
    const auto text = [](bool more, std::size_t bytes) { return (more ? "more than " : "") + std::to_string(bytes); };
    leave(says(true) + " sends " + text(more_sent, sent) + " bytes where " + says(false) + " expects " + text(more_expected, expected) +
          " from it in " + name);
}

void Lockstep::leave(const std::string& message) {
    store(shared_slots_.member(rank_).mismatched, 1);
    throw MismatchedCollectives(why_ = message);
}

}  // namespace fanlight
