// The schedule language: one rank's part of a collective operation, as data.
//
// A schedule is a list of rounds, each a set of steps that may run at the same time.
// Nothing in it is a pointer, a communicator or an MPI handle: an address is
// (buffer, offset), in a buffer of this rank or of a peer.  The same description is
// executed, verified, counted, costed and drawn.
//
// The rules that the verifier holds every schedule to:
//  * A put's source may be changed again as soon as its round has ended.
//  * What an offer names stays unchanged from the offer to the end of the operation.
//  * Steps of one round are unordered: none may touch what another of them writes.
//  * Messages between two ranks arrive in the order in which they were put: the n-th
//    arrive from a peer takes the n-th put of that peer to this rank.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fanlight {

// Rounded up to whole cache lines, so that nobody shares one with a neighbor.
constexpr std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// `unknown`: the place of a put that its target alone knows, and names in its arrive.  A transport
// that writes there must be told first.
enum class Buffer : std::uint8_t { input, output, scratch, unknown };

struct Address {
    Buffer buffer = Buffer::scratch;
    std::size_t offset = 0;  // bytes from the start of the buffer

    friend Address operator+(Address a, std::size_t bytes) { return {a.buffer, a.offset + bytes}; }
    friend bool operator==(const Address&, const Address&) = default;
};

inline Address input(std::size_t offset = 0) { return {Buffer::input, offset}; }
inline Address output(std::size_t offset = 0) { return {Buffer::output, offset}; }
inline Address scratch(std::size_t offset = 0) { return {Buffer::scratch, offset}; }
inline Address unknown() { return {Buffer::unknown, 0}; }

enum class StepKind : std::uint8_t {
    put,      // write `bytes` at `from` into the peer's `to`, then notify it
    arrive,   // mate of the peer's put: when it is over the bytes are in `to`
    offer,    // the bytes at `from` may now be read by `readers`
    get,      // mate: wait for the peer's offer, then read its `from` into `to`
    copy,     // local: `from` into `to`
    combine,  // local: `from` into `to` with the operator
};

// What happens to bytes that come to a place.  The order of the operands is part of
// the language, since operators need not commute and floating point does not associate.
enum class Order : std::uint8_t {
    overwrite,  // to = from
    before,     // to = from (+) to
    after,      // to = to (+) from
};

struct Step {
    StepKind kind;
    Order order = Order::overwrite;  // arrive, get: overwrite or combine; combine: never overwrite
    int peer = -1;                   // put, arrive, get
    int offer = 0;                   // get: which of the peer's offers (0, 1, ...); offer: its own number
    Address from = {};               // put, offer, copy, combine: here; get: at the peer
    Address to = {};                 // arrive, get, copy, combine: here; put: at the peer
    std::size_t bytes = 0;
    // put, arrive of no bytes: the signal may be one bit of a word that all who signal this rank
    // share.  At most one such from one rank to another.
    bool bit = false;
    std::uint32_t first_reader = 0;  // offer: readers are Schedule::readers[first_reader .. + readers)
    std::uint32_t readers = 0;
};

// What no rank's schedule of the same problem exceeds; what is made of levels knows it.
struct Bounds {
    bool known = false;
    bool exact = false;  // some rank needs so much
    bool alike = false;  // instead: no rank needs more than this one's steps say
    int offers = 0;
    // Bytes, in whole lines, that one rank puts and offers: in messages of fewer bytes than 4 KiB, 8 KiB and so on,
    // and last in all.
    static constexpr std::size_t shortest = 4096;
    std::array<std::size_t, 8> written{};
    // Where in this messages of fewer bytes are.
    static std::size_t below(std::size_t bytes);
    void add(std::size_t bytes);  // a message
    Bounds& operator+=(const Bounds&);
    void raise(const Bounds&);  // to the greater of each
};

// What no rank of a kind exceeds.
struct BoundsOfKind {
    Bounds all;
    // As Bounds::written, but of what a rank puts to one other the longest alone: what is there at one time where each pair
    // has one cell.
    std::array<std::size_t, 8> at_one_time{};
    // A message; `longer_than`: of those before it to the same rank the longest, which is no longer than it is.
    void add(std::size_t bytes, std::size_t longer_than = 0);
    BoundsOfKind& operator+=(const BoundsOfKind&);
};

struct Schedule {
    std::vector<Step> steps;                // all rounds, one after the other
    std::vector<std::uint32_t> round_ends;  // index behind the last step of each round
    std::vector<int> readers;               // the ranks that offers name
    std::size_t scratch_bytes = 0;          // how much scratch this rank's steps need
    int offers = 0;                         // how many offers this rank makes
    Bounds bounds;
    // What is composed knows more: each rank's kind.
    std::vector<std::uint32_t> kind_of;
    std::vector<BoundsOfKind> kinds;

    // Ends the current round; an empty one is not recorded.
    void end_round() {
        if (steps.size() > (round_ends.empty() ? 0 : round_ends.back())) round_ends.push_back(static_cast<std::uint32_t>(steps.size()));
    }
    std::size_t rounds() const { return round_ends.size(); }
    std::span<const Step> round(std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : round_ends[i - 1];
        return {steps.data() + begin, round_ends[i] - begin};
    }
    std::span<const int> readers_of(const Step& s) const {
        return {readers.data() + s.first_reader, s.readers};
    }
};

inline std::size_t Bounds::below(std::size_t bytes) {
    std::size_t k = 0;
    while (k + 1 < std::tuple_size_v<decltype(written)> && shortest << k < bytes) ++k;
    return k;
}

inline void Bounds::add(std::size_t bytes) {
    const std::size_t lines = whole_lines(bytes);
    const auto first = static_cast<std::size_t>(std::bit_width(bytes / shortest));
    for (std::size_t k = std::min(first, written.size() - 1); k < written.size(); ++k) written[k] += lines;
}

inline Bounds& Bounds::operator+=(const Bounds& b) {
    offers += b.offers;
    for (std::size_t k = 0; k < written.size(); ++k) written[k] += b.written[k];
    return *this;
}

inline void Bounds::raise(const Bounds& b) {
    offers = std::max(offers, b.offers);
    for (std::size_t k = 0; k < written.size(); ++k) written[k] = std::max(written[k], b.written[k]);
}

inline void BoundsOfKind::add(std::size_t bytes, std::size_t longer_than) {
    Bounds message, before;
    message.add(bytes);
    before.add(longer_than);
    all += message;
    for (std::size_t k = 0; k < at_one_time.size(); ++k)
        if (message.written[k] > 0) at_one_time[k] += message.written[k] - before.written[k];
}

inline BoundsOfKind& BoundsOfKind::operator+=(const BoundsOfKind& b) {
    all += b.all;
    for (std::size_t k = 0; k < at_one_time.size(); ++k) at_one_time[k] += b.at_one_time[k];
    return *this;
}

}  // namespace fanlight
