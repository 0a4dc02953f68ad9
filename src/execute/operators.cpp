#include "execute/operators.h"

#include <cstring>
#include <type_traits>

namespace fanlight {

namespace {

// --- the operators on one pair of elements ----------------------------------------------

// Unsigned arithmetic that is at least as wide as int: signed overflow is undefined in C++,
// and so is that of two uint16_t, which become ints.
template <class T>
using Wrapping = std::conditional_t<std::is_floating_point_v<T>, T,
                                    std::conditional_t<sizeof(T) < 4, std::uint32_t, T>>;

struct Sum {
    template <class T>
    static T of(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); }
};
struct Product {
    template <class T>
    static T of(T a, T b) { return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b)); }
};
struct Min {
    template <class T>
    static T of(T a, T b) { return b < a ? b : a; }
};
struct Max {
    template <class T>
    static T of(T a, T b) { return a < b ? b : a; }
};
struct LogicalAnd {
    template <class T>
    static T of(T a, T b) { return static_cast<T>((a != 0) & (b != 0)); }
};
struct LogicalOr {
    template <class T>
    static T of(T a, T b) { return static_cast<T>((a != 0) | (b != 0)); }
};
struct LogicalXor {
    template <class T>
    static T of(T a, T b) { return static_cast<T>((a != 0) ^ (b != 0)); }
};
struct BitAnd {
    template <class T>
    static T of(T a, T b) { return static_cast<T>(a & b); }
};
struct BitOr {
    template <class T>
    static T of(T a, T b) { return static_cast<T>(a | b); }
};
struct BitXor {
    template <class T>
    static T of(T a, T b) { return static_cast<T>(a ^ b); }
};

template <class T>
struct Located {
    T value;
    int index;
};
struct MinLocation {
    template <class T>
    static Located<T> of(Located<T> a, Located<T> b) {
        if (a.value == b.value) return a.index < b.index ? a : b;
        return b.value < a.value ? b : a;
    }
};
struct MaxLocation {
    template <class T>
    static Located<T> of(Located<T> a, Located<T> b) {
        if (a.value == b.value) return a.index < b.index ? a : b;
        return a.value < b.value ? b : a;
    }
};

// --- the loops, once for each set of instructions ---------------------------------------

// `ivdep`: where `into` is the same memory as an operand, it is so element by element.
#define FANLIGHT_LOOP                                                             \
    const T* a = static_cast<const T*>(left);                                     \
    const T* b = static_cast<const T*>(right);                                    \
    T* c = static_cast<T*>(into);                                                 \
    const std::size_t n = bytes / sizeof(T);                                      \
    _Pragma("GCC ivdep") for (std::size_t i = 0; i < n; ++i) c[i] = Operator::of(a[i], b[i]);

#define FANLIGHT_ARGUMENTS \
    const void *left, const void *right, void *into, std::size_t bytes, const void*

template <class Operator, class T>
void plain(FANLIGHT_ARGUMENTS) {
    FANLIGHT_LOOP
}

#if defined(__x86_64__)
template <class Operator, class T>
[[gnu::target("avx2")]] void with_avx2(FANLIGHT_ARGUMENTS) {
    FANLIGHT_LOOP
}
template <class Operator, class T>
[[gnu::target("avx2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] void
with_avx512(FANLIGHT_ARGUMENTS) {
    FANLIGHT_LOOP
}

template <class Operator, class T>
ApplyFunction vectorised(Instructions most) {
    switch (most) {
        case Instructions::avx512: return with_avx512<Operator, T>;
        case Instructions::avx2: return with_avx2<Operator, T>;
        case Instructions::plain: break;
    }
    return plain<Operator, T>;
}
#else
template <class Operator, class T>
ApplyFunction vectorised(Instructions) {
    return plain<Operator, T>;
}
#endif

// --- which loop for which kind of number ------------------------------------------------

// Sum and product of integers, and the logical operators, are the same for both signs.
template <class Operator>
ApplyFunction by_width(std::size_t size, Instructions most) {
    switch (size) {
        case 1: return vectorised<Operator, std::uint8_t>(most);
        case 2: return vectorised<Operator, std::uint16_t>(most);
        case 4: return vectorised<Operator, std::uint32_t>(most);
        default: return vectorised<Operator, std::uint64_t>(most);
    }
}

bool is_floating(Number n) { return n == Number::float32 || n == Number::float64; }
bool is_located(Number n) { return n >= Number::int16_index && n <= Number::long_double_index; }

template <class Operator>
ApplyFunction sum_or_product(Number n, Instructions most) {
    if (n == Number::float32) return vectorised<Operator, float>(most);
    if (n == Number::float64) return vectorised<Operator, double>(most);
    return by_width<Operator>(size_of(n), most);
}

template <class Operator>
ApplyFunction by_order(Number n, Instructions most) {
    switch (n) {
        case Number::int8: return vectorised<Operator, std::int8_t>(most);
        case Number::int16: return vectorised<Operator, std::int16_t>(most);
        case Number::int32: return vectorised<Operator, std::int32_t>(most);
        case Number::int64: return vectorised<Operator, std::int64_t>(most);
        case Number::uint8: return vectorised<Operator, std::uint8_t>(most);
        case Number::uint16: return vectorised<Operator, std::uint16_t>(most);
        case Number::uint32: return vectorised<Operator, std::uint32_t>(most);
        case Number::uint64: return vectorised<Operator, std::uint64_t>(most);
        case Number::float32: return vectorised<Operator, float>(most);
        case Number::float64: return vectorised<Operator, double>(most);
        default: return nullptr;
    }
}

template <class Operator>
ApplyFunction by_location(Number n) {
    switch (n) {
        case Number::int16_index: return plain<Operator, Located<short>>;
        case Number::int32_index: return plain<Operator, Located<int>>;
        case Number::int64_index: return plain<Operator, Located<long>>;
        case Number::float32_index: return plain<Operator, Located<float>>;
        case Number::float64_index: return plain<Operator, Located<double>>;
        case Number::long_double_index: return plain<Operator, Located<long double>>;
        default: return nullptr;
    }
}

}  // namespace

std::size_t size_of(Number n) {
    switch (n) {
        case Number::int8: case Number::uint8: return 1;
        case Number::int16: case Number::uint16: return 2;
        case Number::int32: case Number::uint32: case Number::float32: return 4;
        case Number::int64: case Number::uint64: case Number::float64: return 8;
        case Number::int16_index: return sizeof(Located<short>);
        case Number::int32_index: return sizeof(Located<int>);
        case Number::int64_index: return sizeof(Located<long>);
        case Number::float32_index: return sizeof(Located<float>);
        case Number::float64_index: return sizeof(Located<double>);
        case Number::long_double_index: return sizeof(Located<long double>);
        case Number::none: break;
    }
    return 0;
}

Instructions instructions() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return Instructions::avx512;
    if (__builtin_cpu_supports("avx2")) return Instructions::avx2;
#endif
    return Instructions::plain;
}

ApplyFunction arithmetic(Arithmetic a, Number n, Instructions most) {
    if (n == Number::none) return nullptr;
    if (a == Arithmetic::min_location) return by_location<MinLocation>(n);
    if (a == Arithmetic::max_location) return by_location<MaxLocation>(n);
    if (is_located(n)) return nullptr;
    switch (a) {
        case Arithmetic::sum: return sum_or_product<Sum>(n, most);
        case Arithmetic::product: return sum_or_product<Product>(n, most);
        case Arithmetic::min: return by_order<Min>(n, most);
        case Arithmetic::max: return by_order<Max>(n, most);
        default: break;
    }
    if (is_floating(n)) return nullptr;
    switch (a) {
        case Arithmetic::logical_and: return by_width<LogicalAnd>(size_of(n), most);
        case Arithmetic::logical_or: return by_width<LogicalOr>(size_of(n), most);
        case Arithmetic::logical_xor: return by_width<LogicalXor>(size_of(n), most);
        // Bits do not care where an element ends.
        case Arithmetic::bit_and: return vectorised<BitAnd, std::uint8_t>(most);
        case Arithmetic::bit_or: return vectorised<BitOr, std::uint8_t>(most);
        case Arithmetic::bit_xor: return vectorised<BitXor, std::uint8_t>(most);
        default: return nullptr;
    }
}

}  // namespace fanlight
