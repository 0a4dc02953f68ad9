#include "select/comparison.h"

#include <algorithm>
#include <bit>

namespace fanlight {

namespace {

constexpr double unlikely = 0.01;
constexpr std::size_t measured = Comparison::block - 1;  // of a block

bool is_theirs_in(std::uint32_t block) { return std::popcount(block) % 2 != 0; }  // Thue-Morse

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

// The sign test: whether it would be unlikely if as many were above `bound` as below.
bool mostly(const std::vector<double>& values, double bound, bool above) {
    int agree = 0, n = 0;
    for (const double v : values) {
        if (v == bound) continue;
        ++n;
        agree += (v > bound) == above;
    }
    return at_least(agree, n) < unlikely;
}

}  // namespace

double at_least(int heads, int n) {
    double ways = 1, sum = 0, all = 1;
    for (int k = 0; k <= n; ++k) {
        if (k >= heads) sum += ways;
        ways = ways * (n - k) / (k + 1);
    }
    for (int k = 0; k < n; ++k) all *= 2;
    return sum / all;
}

bool Comparison::is_theirs() const {
    if (verdict_ != Verdict::open) return verdict_ == Verdict::theirs;
    return call_ >= calls_before && is_theirs_in((call_ - calls_before) / block);
}

bool Comparison::over(std::int64_t began, std::int64_t ended) {
    if (is_measured()) times_.insert(times_.end(), {began, ended});
    ++call_;
    if (call_ <= calls_before || (call_ - calls_before) % round != 0) return false;
    return std::has_single_bit((call_ - calls_before) / round);
}

Comparison::Verdict Comparison::judge(std::span<const std::int64_t> last) {
    const auto took = [&](std::size_t sample) {
        return static_cast<double>(std::max<std::int64_t>(last[2 * sample + 1] - last[2 * sample], 1));
    };
    // Rounds are whole: the first of these blocks has the number of those before.
    const std::size_t samples = last.size() / 2, before = ratios_.size() * 2 / measured;
    for (std::size_t first = 0; first + 2 * measured <= samples; first += 2 * measured) {
        const bool theirs_first = is_theirs_in(static_cast<std::uint32_t>(before + first / measured));
        for (std::size_t i = first; i < first + measured; ++i)
            ratios_.push_back(theirs_first ? took(i + measured) / took(i) : took(i) / took(i + measured));
    }
    times_.clear();
    ratio_ = median(ratios_);
    verdict_ = found((call_ - calls_before) / round >= most_rounds);
    if (verdict_ != Verdict::open) {
        times_ = {};
        ratios_ = {};
    }
    return verdict_;
}

Comparison::Verdict Comparison::found(bool is_last) const {
    constexpr double bound = 1 / least;
    if (ratio_ > bound && mostly(ratios_, 1, true)) return Verdict::theirs;
    if (is_last || (ratio_ <= bound && mostly(ratios_, bound, false))) return Verdict::ours;
    return Verdict::open;
}

}  // namespace fanlight
