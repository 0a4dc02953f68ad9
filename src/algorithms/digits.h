// The way of each block between two ranks by the digits of their distance, to base Parameters::degree or 2 (Bruck): where
// digit k of i is d, the block for rank r + i goes d degree^k ranks on in round k.
#pragma once

#include <utility>
#include <vector>

#include "algorithms/circulant.h"

namespace fanlight {

class Digits {
public:
    explicit Digits(const Problem&);

    // To the rank `distance` ahead, from the one as far behind.
    struct Message {
        int power, distance;
        std::vector<int> blocks;  // whose ways from their owners are so long, in order
    };
    const std::vector<std::vector<Message>>& rounds() const { return rounds_; }
    // The owner of such a block, and whom it is for, where `rank` sends it or receives it.
    std::pair<int, int> ends_of_sent(const Message& m, int block, int rank) const { return ends(rank - block % m.power, block); }
    std::pair<int, int> ends_of_received(const Message& m, int block, int rank) const { return ends(rank - m.distance - block % m.power, block); }

private:
    std::pair<int, int> ends(int owner, int block) const {
        owner = (owner + size_) % size_;
        return {owner, (owner + block) % size_};
    }

    int size_;
    std::vector<std::vector<Message>> rounds_;
};

// Messages of packed blocks.  `at`: where the blocks lie that have still to go i ranks; in the end, where those lie that have
// come i ranks.  `bytes(owner, target)`: their lengths; `room(bytes)`: where a message arrives; `target(address)`: where,
// as the writer has it.
template <class Bytes, class Room, class Target>
void move_by_digits(Builder& b, const Problem& problem, std::vector<Address>& at, Bytes&& bytes, Room&& room, Target&& target) {
    struct Packed {
        Address out, in;
        std::size_t out_bytes = 0, in_bytes = 0;
    };
    const Digits digits(problem);
    for (const auto& round : digits.rounds()) {
        std::vector<Packed> packed;
        for (const Digits::Message& m : round) {
            Packed& p = packed.emplace_back();
            for (const int i : m.blocks) {
                const auto [from, to] = digits.ends_of_sent(m, i, problem.rank);
                const auto [owner, receiver] = digits.ends_of_received(m, i, problem.rank);
                p.out_bytes += bytes(from, to);
                p.in_bytes += bytes(owner, receiver);
            }
            Address next = p.out = b.reserve(p.out_bytes);
            p.in = room(p.in_bytes);
            for (const int i : m.blocks) {
                const auto [from, to] = digits.ends_of_sent(m, i, problem.rank);
                const std::size_t length = bytes(from, to);
                if (length) b.copy(at[static_cast<std::size_t>(i)], next, length);
                next = next + length;
            }
        }
        b.next_round();
        for (std::size_t k = 0; k < round.size(); ++k) {
            const Digits::Message& m = round[k];
            const Packed& p = packed[k];
            if (p.out_bytes) b.put((problem.rank + m.distance) % problem.size, p.out, target(p.in), p.out_bytes);
            if (p.in_bytes) b.arrive((problem.rank - m.distance + problem.size) % problem.size, p.in, p.in_bytes);
            Address next = p.in;
            for (const int i : m.blocks) {
                const auto [owner, receiver] = digits.ends_of_received(m, i, problem.rank);
                at[static_cast<std::size_t>(i)] = std::exchange(next, next + bytes(owner, receiver));
            }
        }
        b.next_round();
    }
}

}  // namespace fanlight
