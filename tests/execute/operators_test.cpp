#include "execute/operators.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <type_traits>
#include <vector>

namespace fanlight {
namespace {

// As C++ computes it, and as MPI says it: integers wrap around.
template <class T>
T one(Arithmetic a, T l, T r) {
    if constexpr (std::is_floating_point_v<T>) {
        switch (a) {
            case Arithmetic::sum: return l + r;
            case Arithmetic::product: return l * r;
            case Arithmetic::min: return l < r ? l : r;
            default: return l > r ? l : r;
        }
    } else {
        const auto x = static_cast<std::uint64_t>(l), y = static_cast<std::uint64_t>(r);
        switch (a) {
            case Arithmetic::sum: return static_cast<T>(x + y);
            case Arithmetic::product: return static_cast<T>(x * y);
            case Arithmetic::min: return l < r ? l : r;
            case Arithmetic::max: return l > r ? l : r;
            case Arithmetic::logical_and: return l && r;
            case Arithmetic::logical_or: return l || r;
            case Arithmetic::logical_xor: return !l != !r;
            case Arithmetic::bit_and: return static_cast<T>(x & y);
            case Arithmetic::bit_or: return static_cast<T>(x | y);
            default: return static_cast<T>(x ^ y);
        }
    }
}

constexpr std::size_t lengths[] = {0, 1, 2, 7, 16, 31, 64, 65, 129, 1000};

// Every pair of least, -1, 0, 1, greatest and others, at places of all alignments.
template <class T>
void computes(Number number) {
    using Limits = std::numeric_limits<T>;
    const T values[] = {Limits::lowest(), static_cast<T>(-1), 0, 1, Limits::max(), static_cast<T>(0x5b), static_cast<T>(-77), 3, static_cast<T>(0x1234)};
    const std::size_t n = std::size(values), most = 1000;
    ASSERT_EQ(size_of(number), sizeof(T));
    for (int a = 0; a <= static_cast<int>(Arithmetic::bit_xor); ++a) {
        const auto arithmetic_of = static_cast<Arithmetic>(a);
        std::set<ApplyFunction> different;
        for (auto set = Instructions::plain; set <= instructions(); set = static_cast<Instructions>(static_cast<int>(set) + 1)) {
            const ApplyFunction apply = arithmetic(arithmetic_of, number, set);
            if (std::is_floating_point_v<T> && arithmetic_of > Arithmetic::max) {
                EXPECT_EQ(apply, nullptr);
                continue;
            }
            ASSERT_NE(apply, nullptr);
            EXPECT_TRUE(different.insert(apply).second) << "operator " << a << ": a set of instructions has another one's loop";
            for (const std::size_t length : lengths)
                for (std::size_t shift = 0; shift < 16; shift += 5) {
                    std::vector<T> left(most + 16), right(left), into(most + 17, T{9}), expected(into);
                    for (std::size_t i = 0; i < length; ++i) {
                        left[shift + i] = values[i % n];
                        right[i] = values[i / n % n];
                        expected[shift / 2 + i] = one(arithmetic_of, left[shift + i], right[i]);
                    }
                    apply(left.data() + shift, right.data(), into.data() + shift / 2, length * sizeof(T), nullptr);
                    ASSERT_EQ(into, expected) << "operator " << a << ", instructions " << static_cast<int>(set) << ", " << length << " elements";
                    apply(left.data() + shift, right.data(), right.data(), length * sizeof(T), nullptr);
                    ASSERT_EQ(0, std::memcmp(right.data(), expected.data() + shift / 2, length * sizeof(T))) << "operator " << a << " in place";
                }
        }
    }
}

TEST(Operators, OfIntegers) {
    computes<std::int8_t>(Number::int8);
    computes<std::int16_t>(Number::int16);
    computes<std::int32_t>(Number::int32);
    computes<std::int64_t>(Number::int64);
    computes<std::uint8_t>(Number::uint8);
    computes<std::uint16_t>(Number::uint16);
    computes<std::uint32_t>(Number::uint32);
    computes<std::uint64_t>(Number::uint64);
}

TEST(Operators, OfFloatingPointNumbers) {
    computes<float>(Number::float32);
    computes<double>(Number::float64);
}

}  // namespace
}  // namespace fanlight
