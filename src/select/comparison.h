// Which of two sides serves calls of one class faster, Fanlight or the MPI library, found out while both serve them.
// It depends only on the number of the call and on what judge() is given, so ranks that give it the same decide the same
// at the same call.
//
//   calls 0 to 31                 Fanlight's, not measured: plans, pages and connections are made
//   from then on                  blocks of four calls by one side, in Thue-Morse order, so that slow changes affect
//                                 both alike; the first call of a block is not measured
//   after 1, 2, 4 and 8 rounds    (of eight blocks) the times are judged; the comparison ends when the result is clear,
//                                 or with the last round
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fanlight {

class Comparison {
public:
    enum class Verdict : unsigned char { open, ours, theirs };

    static constexpr std::uint32_t calls_before = 32, block = 4, blocks = 8, round = block * blocks, most_rounds = 8;
    // Theirs must be so much faster, which what is kept costs at most.
    static constexpr double least = 0.95;

    // Of the next call.
    bool is_theirs() const;
    bool is_measured() const { return call_ >= calls_before && (call_ - calls_before) % block != 0; }
    // It is over, and began and ended on this rank at these times.  True: judge() comes next, before another call.
    bool over(std::int64_t began, std::int64_t ended);
    // When the measured calls since the last judgement began and ended on this rank, in turn.
    std::span<const std::int64_t> times() const { return times_; }
    // The same of all ranks: when the last one began, and when the last one ended.
    Verdict judge(std::span<const std::int64_t> last_of_all);

    Verdict verdict() const { return verdict_; }
    // Of our time to theirs, the median.
    double ratio() const { return ratio_; }
    std::uint32_t calls() const { return call_; }

private:
    Verdict found(bool is_last) const;

    std::uint32_t call_ = 0;
    Verdict verdict_ = Verdict::open;
    double ratio_ = 1;
    std::vector<std::int64_t> times_;
    std::vector<double> ratios_;  // of measured calls in neighboring blocks
};

// How likely it is that of `n` fair coins at least `heads` show heads.
double at_least(int heads, int n);

}  // namespace fanlight
