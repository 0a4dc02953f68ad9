// One random legal MPI program: fuzz FOLDER SEED ACTIONS [FIRST LAST [no-persistent]]
//
// All ranks draw the same actions from the seed, and each its own delays and ways to wait.  What a
// rank finds in its buffers after a call goes as a line into FOLDER/<rank>, and is the same whoever
// serves the collectives: integers wrap, floating-point numbers are small integers, so that every
// bracketing is exact.  Of the actions outside of FIRST..LAST only those that make or free
// communicators are done: so a failure can be narrowed down.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b = 0) {  // splitmix64
    std::uint64_t z = a * 0xd1342543de82ef95 + b + 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15); }
    int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
    bool chance(int percent) { return below(100) < percent; }
    template <class T>
    const T& one_of(const std::vector<T>& values) { return values[next() % values.size()]; }
    template <class T>
    void shuffle(std::vector<T>& values) {
        for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[next() % i]);
    }

private:
    std::uint64_t state_;
};

void delay(Random& own, int percent = 8) {
    if (!own.chance(percent)) return;
    const auto time = std::chrono::microseconds(own.below(own.chance(80) ? 100 : 3000));
    if (own.chance(50)) {
        std::this_thread::sleep_for(time);
    } else {
        for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {}
    }
}

// --- datatypes ----------------------------------------------------------------------------

enum class Kind { integer, unsigned_integer, floating, complex, pair, logical, bits, structure };

struct Member {
    int at;
    char code;  // as in struct of Python; D: long double, of which 10 bytes count
};

int bytes_of(char code) {
    switch (code) {
        case 'b': case 'B': case '?': return 1;
        case 'h': return 2;
        case 'i': case 'I': case 'f': return 4;
        case 'D': return 10;
        default: return 8;
    }
}

void write(std::byte* at, char code, std::int64_t value) {
    const auto f = static_cast<float>(value);
    const auto d = static_cast<double>(value);
    const auto l = static_cast<long double>(value);
    const void* from = code == 'f' ? static_cast<const void*>(&f) : code == 'd' ? static_cast<const void*>(&d)
                     : code == 'D' ? static_cast<const void*>(&l) : static_cast<const void*>(&value);
    std::memcpy(at, from, static_cast<std::size_t>(bytes_of(code)));
}

bool is_zero(const std::byte* at, char code) {
    std::byte zero[16] = {};
    zero[bytes_of(code) - 1] = at[bytes_of(code) - 1] & std::byte{0x80};
    return std::memcmp(at, zero, static_cast<std::size_t>(bytes_of(code))) == 0;
}

// What a type signature consists of.
struct Base {
    std::string name;
    MPI_Datatype handle;
    int extent, alignment;
    Kind kind;
    std::vector<Member> members;
    int size() const {
        int sum = 0;
        for (const Member& m : members) sum += bytes_of(m.code);
        return sum;
    }
};

std::vector<Base> all_bases() {
    std::vector<Base> bases = {
        {"int8", MPI_INT8_T, 1, 1, Kind::integer, {{0, 'b'}}},
        {"uint8", MPI_UINT8_T, 1, 1, Kind::unsigned_integer, {{0, 'B'}}},
        {"short", MPI_SHORT, 2, 2, Kind::integer, {{0, 'h'}}},
        {"int", MPI_INT, 4, 4, Kind::integer, {{0, 'i'}}},
        {"unsigned", MPI_UNSIGNED, 4, 4, Kind::unsigned_integer, {{0, 'I'}}},
        {"long", MPI_LONG, 8, 8, Kind::integer, {{0, 'q'}}},
        {"uint64", MPI_UINT64_T, 8, 8, Kind::unsigned_integer, {{0, 'Q'}}},
        {"aint", MPI_AINT, 8, 8, Kind::integer, {{0, 'q'}}},
        {"float", MPI_FLOAT, 4, 4, Kind::floating, {{0, 'f'}}},
        {"double", MPI_DOUBLE, 8, 8, Kind::floating, {{0, 'd'}}},
        {"long-double", MPI_LONG_DOUBLE, 16, 16, Kind::floating, {{0, 'D'}}},
        {"float-complex", MPI_C_FLOAT_COMPLEX, 8, 4, Kind::complex, {{0, 'f'}, {4, 'f'}}},
        {"double-complex", MPI_C_DOUBLE_COMPLEX, 16, 8, Kind::complex, {{0, 'd'}, {8, 'd'}}},
        {"bool", MPI_C_BOOL, 1, 1, Kind::logical, {{0, '?'}}},
        {"byte", MPI_BYTE, 1, 1, Kind::bits, {{0, 'B'}}},
        {"2int", MPI_2INT, 8, 4, Kind::pair, {{0, 'i'}, {4, 'i'}}},
        {"short-int", MPI_SHORT_INT, 8, 4, Kind::pair, {{0, 'h'}, {4, 'i'}}},
        {"float-int", MPI_FLOAT_INT, 8, 4, Kind::pair, {{0, 'f'}, {4, 'i'}}},
        {"long-int", MPI_LONG_INT, 16, 8, Kind::pair, {{0, 'q'}, {8, 'i'}}},
        {"double-int", MPI_DOUBLE_INT, 16, 8, Kind::pair, {{0, 'd'}, {8, 'i'}}},
    };
    // NEURON's spike, and one whose members are not aligned.
    for (const int second : {8, 5}) {
        Base b{second == 8 ? "spike" : "unaligned", {}, 16, 8, Kind::structure, {}};
        b.members = second == 8 ? std::vector<Member>{{0, 'd'}, {8, 'i'}} : std::vector<Member>{{5, 'd'}, {1, 'i'}};
        const int lengths[] = {1, 1};
        const MPI_Aint places[] = {b.members[0].at, b.members[1].at};
        const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
        MPI_Datatype packed;
        MPI_Type_create_struct(2, lengths, places, types, &packed);
        MPI_Type_create_resized(packed, 0, b.extent, &b.handle);
        MPI_Type_free(&packed);
        MPI_Type_commit(&b.handle);
        bases.push_back(b);
    }
    return bases;
}

struct Type {
    std::string name;
    MPI_Datatype handle;
    const Base* base;
    std::vector<MPI_Aint> places;  // of its elements, in the order of the type map
    MPI_Aint extent;
    MPI_Aint low = 0, high = 0;  // of the bytes that belong to it
    bool owned = true;

    Type(std::string name, MPI_Datatype handle, const Base& base, std::vector<MPI_Aint> places, MPI_Aint extent)
        : name(std::move(name)), handle(handle), base(&base), places(std::move(places)), extent(extent) {
        low = *std::min_element(this->places.begin(), this->places.end());
        high = *std::max_element(this->places.begin(), this->places.end()) + base.extent;
    }
    Type(const Type&) = delete;
    Type& operator=(const Type&) = delete;
    ~Type() { release(); }
    void release() {
        if (owned) MPI_Type_free(&handle);
        owned = false;
    }
    int elements() const { return static_cast<int>(places.size()); }
    bool contiguous() const {
        return extent == static_cast<MPI_Aint>(places.size()) * base->extent && base->size() == base->extent &&
               low == 0 && std::is_sorted(places.begin(), places.end());
    }
};

// The operators' functions are given a handle alone.
class Known {
public:
    void add(const std::shared_ptr<Type>& type) {
        const std::scoped_lock lock(mutex_);
        auto& entries = types_[type->handle];
        std::erase_if(entries, [](const auto& entry) { return entry.expired(); });
        entries.push_back(type);
    }
    std::shared_ptr<Type> find(MPI_Datatype handle) {
        const std::scoped_lock lock(mutex_);
        const auto& entries = types_[handle];
        for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
            if (auto type = entry->lock()) return type;
        std::fprintf(stderr, "an operator was called with a datatype that the program does not have\n");
        std::abort();
    }

private:
    std::mutex mutex_;
    std::map<MPI_Datatype, std::vector<std::weak_ptr<Type>>> types_;
};
Known known;

std::shared_ptr<Type> made_type(Random& r, const Base& b, bool derived, bool wide) {
    const MPI_Aint width = b.extent;
    std::shared_ptr<Type> type;
    if (!derived || r.chance(35)) {
        type = std::make_shared<Type>(b.name, b.handle, b, std::vector<MPI_Aint>{0}, width);
        type->owned = false;
        known.add(type);
        return type;
    }
    const int n = wide && r.chance(8) ? 12 * (1 + r.below(100)) : r.one_of(std::vector{1, 2, 3, 4, 6, 12});
    int rows = 1 + r.below(4);
    while (n % rows) --rows;
    const int columns = n / rows;
    std::vector<MPI_Aint> places;
    std::vector<int> at;
    MPI_Datatype handle, inner;
    MPI_Aint extent = n * width;
    std::string name;
    switch (r.below(9)) {
        case 0:
            name = "contiguous";
            for (int i = 0; i < n; ++i) places.push_back(i * width);
            MPI_Type_contiguous(n, b.handle, &handle);
            break;
        case 1:
        case 2: {
            name = "vector";
            const int stride = columns + r.below(4);
            for (int i = 0; i < n; ++i) places.push_back((i / columns * stride + i % columns) * width);
            MPI_Type_vector(rows, columns, stride, b.handle, &handle);
            extent = ((rows - 1) * stride + columns) * width;
            break;
        }
        case 3:
        case 4: {
            name = "indexed";
            int next = r.below(4) - 1;
            for (int i = 0; i < n; ++i, next += 1 + r.below(3)) at.push_back(next);
            extent = (at.back() - at.front() + 1) * width;
            if (r.chance(50)) r.shuffle(at), name = "disordered";
            for (const int place : at) places.push_back(place * width);
            MPI_Type_create_indexed_block(n, 1, at.data(), b.handle, &handle);
            break;
        }
        case 5: {
            name = "resized";
            const MPI_Aint low = -width * r.below(2);
            for (int i = 0; i < n; ++i) places.push_back(i * width);
            extent = (n + 1 + r.below(3)) * width;
            MPI_Type_contiguous(n, b.handle, &inner);
            MPI_Type_create_resized(inner, low, extent, &handle);
            MPI_Type_free(&inner);
            break;
        }
        case 6: {
            name = "subarray";
            const int sizes[] = {rows + 1, columns + 2}, parts[] = {rows, columns}, starts[] = {r.below(2), r.below(3)};
            for (int i = 0; i < n; ++i)
                places.push_back(((starts[0] + i / columns) * sizes[1] + starts[1] + i % columns) * width);
            MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, b.handle, &handle);
            extent = sizes[0] * sizes[1] * width;
            break;
        }
        case 7: {
            name = "nested";
            const MPI_Aint stride = (columns + 1) * width;
            for (int i = 0; i < n; ++i) places.push_back(i / columns * stride + i % columns * width);
            MPI_Type_contiguous(columns, b.handle, &inner);
            MPI_Type_create_hvector(rows, 1, stride, inner, &handle);
            MPI_Type_free(&inner);
            extent = (rows - 1) * stride + columns * width;
            break;
        }
        default:
            name = "dup";
            places = {0};
            MPI_Type_dup(b.handle, &handle);
            extent = width;
    }
    MPI_Type_commit(&handle);
    type = std::make_shared<Type>(name + '(' + b.name + ')', handle, b, std::move(places), extent);
    known.add(type);
    return type;
}

// --- operators ----------------------------------------------------------------------------

struct Operator {
    std::string name;
    MPI_Op handle = MPI_OP_NULL;
    bool owned = false;
    void release() {
        if (owned) MPI_Op_free(&handle);
        owned = false;
    }
};

template <class Combine>
void for_each_element(void* in, void* inout, int* items, MPI_Datatype* handle, Combine combine) {
    const std::shared_ptr<Type> type = known.find(*handle);
    for (int i = 0; i < *items; ++i) {
        for (const MPI_Aint place : type->places) {
            std::uint64_t a, b;
            std::memcpy(&a, static_cast<std::byte*>(in) + i * type->extent + place, sizeof a);
            std::memcpy(&b, static_cast<std::byte*>(inout) + i * type->extent + place, sizeof b);
            b = combine(a, b);
            std::memcpy(static_cast<std::byte*>(inout) + i * type->extent + place, &b, sizeof b);
        }
    }
}

void add(void* in, void* inout, int* items, MPI_Datatype* type) {
    for_each_element(in, inout, items, type, [](std::uint64_t a, std::uint64_t b) { return a + b; });
}

// x -> a x + b after x -> c x + d: associative, and does not commute.
void compose(void* in, void* inout, int* items, MPI_Datatype* type) {
    for_each_element(in, inout, items, type, [](std::uint64_t f, std::uint64_t g) {
        const auto a = static_cast<std::uint32_t>(f >> 32), b = static_cast<std::uint32_t>(f);
        const auto c = static_cast<std::uint32_t>(g >> 32), d = static_cast<std::uint32_t>(g);
        return static_cast<std::uint64_t>(a * c) << 32 | static_cast<std::uint32_t>(a * d + b);
    });
}

Operator made_operator(Random& r, const Base& b, bool users) {
    if (users) {
        const bool commutes = r.chance(40);
        Operator o{commutes ? "add" : "compose", MPI_OP_NULL, true};
        MPI_Op_create(commutes ? add : compose, commutes, &o.handle);
        return o;
    }
    const std::vector<Operator> arithmetic = {
        {"sum", MPI_SUM}, {"sum", MPI_SUM}, {"prod", MPI_PROD}, {"max", MPI_MAX}, {"min", MPI_MIN}};
    const std::vector<Operator> bits = {{"band", MPI_BAND}, {"bor", MPI_BOR}, {"bxor", MPI_BXOR}};
    const std::vector<Operator> logical = {{"land", MPI_LAND}, {"lor", MPI_LOR}, {"lxor", MPI_LXOR}};
    switch (b.kind) {
        case Kind::integer:
        case Kind::unsigned_integer:
            return r.chance(70) || b.name == "aint" ? r.one_of(arithmetic) : r.one_of(r.chance(50) ? bits : logical);
        case Kind::floating: return r.one_of(arithmetic);
        case Kind::complex: return r.chance(60) ? Operator{"sum", MPI_SUM} : Operator{"prod", MPI_PROD};
        case Kind::pair: return r.chance(50) ? Operator{"minloc", MPI_MINLOC} : Operator{"maxloc", MPI_MAXLOC};
        case Kind::logical: return r.one_of(logical);
        default: return r.one_of(bits);
    }
}

// Values whose reduction is exact.
void write_operand(std::byte* at, const Base& b, const Operator& o, std::uint64_t random) {
    for (const Member& m : b.members) {
        std::int64_t value = static_cast<std::int64_t>(random % 17) - (b.kind == Kind::unsigned_integer ? 0 : 8);
        if (o.owned || o.name[0] == 'b') value = static_cast<std::int64_t>(random);
        else if (o.name == "prod" && b.kind == Kind::complex) value = static_cast<std::int64_t>(random % 3) - 1;
        else if (o.name == "prod")
            value = random % 4 == 0 ? 2 : b.kind == Kind::unsigned_integer || random % 3 ? 1 : -1;
        else if (b.kind == Kind::logical || o.name[0] == 'l') value = static_cast<std::int64_t>(random % 2);
        write(at + m.at, m.code, value);
        random = mix(random);
    }
}

// --- communicators ------------------------------------------------------------------------

struct Comm {
    MPI_Comm handle = MPI_COMM_NULL;
    std::uint64_t id = 0;  // the same on its ranks
    int rank = 0, size = 0;
    bool topology = false, cartesian = false, inter = false, first_group = false;
    int remote_size = 0;
    std::vector<int> sources, destinations;

    Comm() = default;
    Comm(MPI_Comm handle, std::uint64_t id) : handle(handle), id(id) {
        if (handle == MPI_COMM_NULL) return;
        MPI_Comm_rank(handle, &rank);
        MPI_Comm_size(handle, &size);
    }
};

// --- buffers ------------------------------------------------------------------------------

struct Block {
    const Type* type;
    std::size_t items;
    MPI_Aint offset;  // bytes
    std::uint64_t elements() const { return items * type->places.size(); }
};

class Side {
public:
    std::vector<Block> blocks;

    void add(const Type& type, std::size_t elements, MPI_Aint offset = 0) {
        blocks.push_back({&type, elements / type.places.size(), offset});
    }

    // One behind the other, or in any order with gaps; in whole extents if they are of one type.
    void place(Random* disorder, bool in_bytes) {
        std::vector<std::size_t> order(blocks.size());
        std::iota(order.begin(), order.end(), 0);
        if (disorder) disorder->shuffle(order);
        MPI_Aint next = 0;
        for (const std::size_t i : order) {
            Block& b = blocks[i];
            if (disorder) next += disorder->below(3) * b.type->extent;
            const MPI_Aint alignment = b.type->base->alignment;
            if (in_bytes) next = (next - std::min<MPI_Aint>(b.type->low, 0) + alignment - 1) / alignment * alignment;
            b.offset = next;
            next += static_cast<MPI_Aint>(b.items) * b.type->extent;
            if (in_bytes) next += std::max<MPI_Aint>(b.type->high - b.type->extent, 0);
        }
    }

    void allocate(Random& own) {
        MPI_Aint from = 0, to = 0;
        for (const Block& b : blocks) {
            if (b.items == 0) continue;
            from = std::min(from, b.offset + b.type->low);
            to = std::max(to, b.offset + static_cast<MPI_Aint>(b.items - 1) * b.type->extent + b.type->high);
        }
        const MPI_Aint shift = own.chance(50) || blocks.empty() ? 0 : own.below(16) * blocks[0].type->base->alignment;
        from = (from - 15) / 16 * 16;
        memory_.resize(static_cast<std::size_t>(to - from + shift) + 2 * guard);
        origin_ = memory_.data() + guard + shift - from;
        present_ = true;
    }

    void poison() { std::fill(memory_.begin(), memory_.end(), std::byte{0xa5}); }

    void fill(std::uint64_t seed, const Operator* op) {
        poison();
        for (const Block& b : blocks) {
            seed = mix(seed, 1);
            if (!op && b.type->contiguous()) {
                std::byte* at = origin_ + b.offset;
                const std::size_t bytes = b.items * static_cast<std::size_t>(b.type->extent);
                for (std::size_t i = 0; i < bytes; i += 8) {
                    const std::uint64_t word = mix(seed, i);
                    std::memcpy(at + i, &word, std::min<std::size_t>(8, bytes - i));
                }
                continue;
            }
            for_each(b, b.items, [&, n = 0ULL](std::byte* at) mutable {
                const std::uint64_t random = mix(seed, n++);
                if (op) return write_operand(at, *b.type->base, *op, random);
                for (const Member& m : b.type->base->members)
                    write(at + m.at, m.code, static_cast<std::int64_t>(random >> 40));
            });
        }
    }

    // Of all bytes, or of the first items alone; the padding of predefined types and the sign of a complex
    // zero are left out.
    std::uint64_t checksum(std::size_t items = SIZE_MAX) {
        for (const Block& b : blocks) {
            const Base& base = *b.type->base;
            if ((base.size() == base.extent && base.kind != Kind::complex) || base.kind == Kind::structure) continue;
            for_each(b, b.items, [&](std::byte* at) {
                std::byte clean[16] = {};
                for (const Member& m : base.members) {
                    std::byte* const to = clean + m.at;
                    std::memcpy(to, at + m.at, static_cast<std::size_t>(bytes_of(m.code)));
                    if (base.kind == Kind::complex && is_zero(to, m.code)) write(to, m.code, 0);
                }
                std::memcpy(at, clean, static_cast<std::size_t>(base.extent));
            });
        }
        std::uint64_t sum = 0;
        if (items != SIZE_MAX) {
            for_each(blocks[0], items, [&](std::byte* at) {
                for (const Member& m : blocks[0].type->base->members)
                    sum = hash(sum, at + m.at, static_cast<std::size_t>(bytes_of(m.code)));
            });
            return sum;
        }
        return hash(sum, memory_.data(), memory_.size());
    }

    bool present() const { return present_; }
    void* address() const { return origin_; }

private:
    static constexpr std::size_t guard = 64;

    template <class F>
    void for_each(const Block& b, std::size_t items, F&& f) const {
        for (std::size_t i = 0; i < items; ++i)
            for (const MPI_Aint place : b.type->places)
                f(origin_ + b.offset + static_cast<MPI_Aint>(i) * b.type->extent + place);
    }
    static std::uint64_t hash(std::uint64_t sum, const std::byte* from, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, from + i, std::min<std::size_t>(8, bytes - i));
            sum = (sum ^ word) * 0x9e3779b97f4a7c15;
            sum ^= sum >> 29;
        }
        return sum;
    }

    std::vector<std::byte> memory_;
    std::byte* origin_ = nullptr;
    bool present_ = false;
};

// --- one call -----------------------------------------------------------------------------

enum class Mode { blocking, non_blocking, persistent };
enum Operation {
    barrier, bcast, reduce, allreduce, scan, exscan, gather, scatter, gatherv, scatterv, allgather, allgatherv,
    alltoall, alltoallv, alltoallw, reduce_scatter_block, reduce_scatter, neighbor_allgather, neighbor_allgatherv,
    neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw, operations
};
const char* const names[] = {
    "barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "gather", "scatter", "gatherv", "scatterv",
    "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter_block", "reduce_scatter",
    "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"};

// What a program has, from its seed.
struct Features {
    bool threads, large_counts, mixed_types, derived_types, users_operators, pending_frees, persistent;
};

struct Setting {
    Features has;
    std::vector<Base> bases;
};

// The arrays of a call, which MPI wants until it is over.
template <bool large>
struct Arrays {
    std::vector<std::conditional_t<large, MPI_Count, int>> counts;
    std::vector<std::conditional_t<large, MPI_Aint, int>> places;
    std::vector<MPI_Aint> bytes;
    std::vector<MPI_Datatype> types;

    void take(const Side& side, bool in_bytes) {
        for (const Block& b : side.blocks) {
            counts.push_back(static_cast<int>(b.items));
            places.push_back(static_cast<int>(in_bytes ? b.offset : b.offset / b.type->extent));
            bytes.push_back(b.offset);
            types.push_back(b.type->handle);
        }
    }
};

class Call {
public:
    // `seed` is the same on all ranks of the communicator, `shape` on all calls that are to be alike but for
    // their lengths.
    Call(const Setting& setting, const Comm& comm, Mode mode, std::uint64_t shape, std::uint64_t seed, Random& own)
        : comm_(comm), mode_(mode), seed_(mix(seed, comm.id)), own_(own.next()) {
        Random r(mix(shape, comm.id)), lengths(seed_);
        std::vector<int> choices;
        if (comm.inter) choices = {barrier, bcast, allreduce, allgather, alltoall};
        else if (comm.topology && r.chance(70))
            choices = {neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv,
                       neighbor_alltoallw};
        else for (int o = 0; o < neighbor_allgather; ++o) choices.push_back(o);
        operation_ = r.one_of(choices);
        large_ = setting.has.large_counts && r.chance(50);
        root_ = r.below(comm.inter ? 1 : comm.size);
        in_place_ = !comm.inter && r.chance(20);
        sides_are_disordered_ = r.chance(30);

        const bool users = reduces() && setting.has.users_operators && r.chance(30);
        std::vector<const Base*> bases;
        for (const Base& b : setting.bases)
            if (users ? b.name == "uint64" : !reduces() || b.kind != Kind::structure) bases.push_back(&b);
        const Base& base = *r.one_of(bases);
        if (reduces()) op_ = made_operator(r, base, users);
        const int number = setting.has.mixed_types && mode == Mode::blocking && !reduces() ? 3 : 1;
        for (int i = 0; i < number; ++i)
            types_.push_back(made_type(r, base, setting.has.derived_types && (!reduces() || users), number == 1));
        unit_ = 1;
        for (const auto& t : types_) unit_ = std::lcm(unit_, static_cast<std::size_t>(t->elements()));
        // Blocks of the same length, most of them short.
        const int parts = operation_ < gather ? 1 : std::max({1, comm.size, comm.remote_size});
        const std::size_t most = (std::size_t{1} << (r.chance(5) ? 23 : 20)) / static_cast<std::size_t>(parts);
        const int bits = std::min(r.below(24), r.below(24));
        std::size_t bytes = lengths.next() % (std::size_t{1} << bits) + (std::size_t{1} << bits) / 2;
        if (lengths.chance(30)) bytes = std::size_t{1} << bits;
        bytes = std::min(bytes, most);
        longest_ = bytes / (unit_ * static_cast<std::size_t>(base.extent));
        if (lengths.chance(90)) longest_ = std::max<std::size_t>(longest_, 1);
        make_sides();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { release(); }

    // Handles may go while a request is in flight.
    void release() {
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
        release_handles();
    }
    void release_handles() {
        op_.release();
        for (const auto& t : types_) t->release();
    }

    void fill(int round) {
        const std::uint64_t seed =
            mix(mix(seed_, static_cast<std::uint64_t>(comm_.rank + (comm_.first_group ? 1000 : 0))),
                static_cast<std::uint64_t>(round));
        const Operator* op = reduces() ? &op_ : nullptr;
        if (send_.present()) send_.fill(seed, op);
        if (recv_.present()) recv_is_input_ ? recv_.fill(seed, op) : recv_.poison();
    }

    // Calls MPI: whole, begun, or initialized.
    void call() {
        if constexpr (MPI_VERSION >= 4)
            if (large_) return called<true>(large_send_, large_recv_);
        called<false>(small_send_, small_recv_);
    }

    // Before it is made, in case it does not end.
    void announce(std::ostream& out) const {
        const char* const modes[] = {"", "i", "persistent "};
        out << modes[static_cast<int>(mode_)] << names[operation_] << (in_place_ ? " in place" : "")
            << (comm_.inter ? " inter" : "") << " ranks=" << comm_.size << " root=" << root_ << ' ' << op_.name;
        for (const auto& t : types_) out << ' ' << t->name;
        for (const int from : comm_.sources) out << " <" << std::max(from, -1);  // MPI_PROC_NULL differs
        for (const int to : comm_.destinations) out << " >" << std::max(to, -1);
        out << " x " << longest_ * unit_ << std::endl;
    }

    void record(std::ostream& out) {
        out << "  " << names[operation_] << std::hex;
        if (recv_.present() && !(operation_ == exscan && comm_.rank == 0))
            out << ' ' << recv_.checksum(recorded_items_);
        if (send_.present()) out << ' ' << send_.checksum();
        out << std::dec << '\n';
    }

    // The same as soon as its request is over; the line is written in its turn.
    void look() {
        std::ostringstream line;
        record(line);
        seen_ = line.str();
    }
    const std::string& seen() const { return seen_; }

    MPI_Request request = MPI_REQUEST_NULL;

private:
    bool reduces() const {
        return (operation_ >= reduce && operation_ <= exscan) || operation_ == reduce_scatter_block ||
               operation_ == reduce_scatter;
    }
    bool rooted() const {
        return operation_ == bcast || operation_ == reduce || (operation_ >= gather && operation_ <= scatterv);
    }
    bool is_root() const { return !comm_.inter && comm_.rank == root_; }

    // The type that this rank has on this side, or for this peer.
    const Type& type(int side, int peer = 0) {
        const std::uint64_t which =
            mix(mix(seed_, static_cast<std::uint64_t>(comm_.rank * 2 + side)), static_cast<std::uint64_t>(peer));
        return *types_[which % types_.size()];
    }
    // Of a block from one rank to another, where that differs from block to block.
    std::size_t length(int from, int to = 0) const {
        const std::uint64_t random =
            mix(mix(seed_, static_cast<std::uint64_t>(from)), static_cast<std::uint64_t>(to) + 7);
        return random % 4 == 0 ? 0 : unit_ * (random / 4 % (longest_ + 1));
    }

    void make_sides() {
        const int n = comm_.inter ? comm_.remote_size : comm_.size, me = comm_.rank;
        const std::size_t all = longest_ * unit_;
        const auto many = [](int count, auto&& f) {
            for (int i = 0; i < count; ++i) f(i);
        };
        bool by_places = false, in_bytes = false;
        switch (operation_) {
            case barrier: in_place_ = false; return;
            case bcast:
                in_place_ = false;
                recv_.add(type(0), all);
                recv_is_input_ = comm_.inter ? comm_.first_group && me == 0 : is_root();
                break;
            case reduce:
                in_place_ = in_place_ && is_root();
                if (!in_place_) send_.add(type(0), all);
                if (is_root()) recv_.add(type(0), all);
                break;
            case allreduce:
            case scan:
            case exscan:
                if (!in_place_) send_.add(type(0), all);
                recv_.add(type(0), all);
                break;
            case reduce_scatter_block:
            case reduce_scatter: {
                std::size_t sum = 0, mine = 0;
                many(n, [&](int i) {
                    const std::size_t part = operation_ == reduce_scatter ? length(i) : all;
                    parts_.add(type(0), part);
                    sum += part;
                    if (i == me) mine = part;
                });
                if (!in_place_) send_.add(type(0), sum);
                recv_.add(type(0), in_place_ ? sum : mine);
                if (in_place_) recorded_items_ = mine / types_[0]->places.size();
                break;
            }
            case gather:
            case gatherv:
                by_places = operation_ == gatherv;
                in_place_ = in_place_ && is_root();
                if (!in_place_) send_.add(type(0), by_places ? length(me) : all);
                if (is_root()) many(n, [&](int i) { recv_.add(type(1), by_places ? length(i) : all); });
                break;
            case scatter:
            case scatterv:
                by_places = operation_ == scatterv;
                in_place_ = in_place_ && is_root();
                if (is_root()) many(n, [&](int i) { send_.add(type(0), by_places ? length(i) : all); });
                if (!in_place_) recv_.add(type(1), by_places ? length(me) : all);
                break;
            case allgather:
            case allgatherv:
                by_places = operation_ == allgatherv;
                if (!in_place_) send_.add(type(0), by_places ? length(me) : all);
                many(n, [&](int i) { recv_.add(type(1), by_places ? length(i) : all); });
                break;
            case alltoall:
            case alltoallv:
            case alltoallw:
                by_places = operation_ != alltoall;
                in_bytes = operation_ == alltoallw;
                many(n, [&](int i) {
                    const int low = std::min(i, me), high = std::max(i, me);
                    if (!in_place_) send_.add(type(0, in_bytes ? i : 0), by_places ? length(me, i) : all);
                    recv_.add(type(1, in_bytes ? i : 0), !by_places  ? all
                                                         : in_place_ ? length(low, high)
                                                                     : length(i, me));
                });
                break;
            default: {
                by_places = operation_ != neighbor_allgather && operation_ != neighbor_alltoall;
                in_bytes = operation_ == neighbor_alltoallw;
                in_place_ = false;
                const bool one = operation_ == neighbor_allgather || operation_ == neighbor_allgatherv;
                if (one) send_.add(type(0), by_places ? length(me) : all);
                else
                    for (const int to : comm_.destinations)
                        send_.add(type(0, in_bytes ? to : 0), by_places ? length(me, to) : all);
                for (const int from : comm_.sources)
                    recv_.add(type(1, in_bytes ? from : 0), by_places ? one ? length(from) : length(from, me) : all);
            }
        }
        if (in_place_ && operation_ != scatter && operation_ != scatterv) recv_is_input_ = true;
        const bool one_to_send = operation_ == gatherv || operation_ == allgatherv || operation_ == neighbor_allgatherv;
        for (Side* side : {&send_, &recv_}) {
            const bool has_places = by_places && !(side == &send_ ? one_to_send : operation_ == scatterv);
            side->place(has_places && sides_are_disordered_ ? &own_ : nullptr, in_bytes);
            if (!side->blocks.empty()) side->allocate(own_);
        }
        large_send_.take(operation_ == reduce_scatter ? parts_ : send_, in_bytes);
        small_send_.take(operation_ == reduce_scatter ? parts_ : send_, in_bytes);
        large_recv_.take(recv_, in_bytes);
        small_recv_.take(recv_, in_bytes);
    }

    // Of every block; a rank without blocks says the same, which Open MPI looks at.
    template <class Count>
    Count count(const std::vector<Count>& counts) const {
        if (!counts.empty()) return counts[0];
        return types_.empty() ? 0 : static_cast<Count>(longest_ * unit_ / types_[0]->places.size());
    }
    MPI_Datatype datatype(const std::vector<MPI_Datatype>& types) const {
        return !types.empty() ? types[0] : types_.empty() ? MPI_INT : types_[0]->handle;
    }

    template <bool large>
    void called(const Arrays<large>& s, const Arrays<large>& r) {
        void* const in = send_.present() ? send_.address() : in_place_ ? MPI_IN_PLACE : &seed_;
        void* const out = recv_.present() ? recv_.address() : in_place_ ? MPI_IN_PLACE : &seed_;
        using Count = std::conditional_t<large, MPI_Count, int>;
        const Count sent = count(s.counts), received = count(r.counts);
        const MPI_Datatype from = datatype(s.types), to = datatype(r.types);
        const int root = !comm_.inter ? root_ : !comm_.first_group ? 0 : comm_.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
#define CALLED(Name, name, ...)                                                                                    \
    if constexpr (large) {                                                                                   \
        if (mode_ == Mode::blocking) MPI_##Name##_c(__VA_ARGS__, comm_.handle);                              \
        else if (mode_ == Mode::non_blocking) MPI_I##name##_c(__VA_ARGS__, comm_.handle, &request);  \
        else MPI_##Name##_init_c(__VA_ARGS__, comm_.handle, MPI_INFO_NULL, &request);                        \
    } else {                                                                                                 \
        if (mode_ == Mode::blocking) MPI_##Name(__VA_ARGS__, comm_.handle);                                  \
        else if (mode_ == Mode::non_blocking) MPI_I##name(__VA_ARGS__, comm_.handle, &request);      \
        else MPI_##Name##_init(__VA_ARGS__, comm_.handle, MPI_INFO_NULL, &request);                          \
    }                                                                                                        \
    return
        switch (operation_) {
            case barrier:
                if (mode_ == Mode::blocking) MPI_Barrier(comm_.handle);
                else if (mode_ == Mode::non_blocking) MPI_Ibarrier(comm_.handle, &request);
                else MPI_Barrier_init(comm_.handle, MPI_INFO_NULL, &request);
                return;
            case bcast: CALLED(Bcast, bcast, out, received, to, root);
            case reduce:
                CALLED(Reduce, reduce, in, out, in_place_ ? received : sent, in_place_ ? to : from, op_.handle, root);
            case allreduce: CALLED(Allreduce, allreduce, in, out, received, to, op_.handle);
            case scan: CALLED(Scan, scan, in, out, received, to, op_.handle);
            case exscan: CALLED(Exscan, exscan, in, out, received, to, op_.handle);
            case gather: CALLED(Gather, gather, in, sent, from, out, received, to, root);
            case gatherv: CALLED(Gatherv, gatherv, in, sent, from, out, r.counts.data(), r.places.data(), to, root);
            case scatter: CALLED(Scatter, scatter, in, sent, from, out, received, to, root);
            case scatterv:
                CALLED(Scatterv, scatterv, in, s.counts.data(), s.places.data(), from, out, received, to, root);
            case allgather: CALLED(Allgather, allgather, in, sent, from, out, received, to);
            case allgatherv: CALLED(Allgatherv, allgatherv, in, sent, from, out, r.counts.data(), r.places.data(), to);
            case alltoall: CALLED(Alltoall, alltoall, in, sent, from, out, received, to);
            case alltoallv:
                CALLED(Alltoallv, alltoallv, in, s.counts.data(), s.places.data(), from, out, r.counts.data(),
                       r.places.data(), to);
            case alltoallw:
                CALLED(Alltoallw, alltoallw, in, s.counts.data(), s.places.data(), s.types.data(), out, r.counts.data(),
                       r.places.data(), r.types.data());
            case reduce_scatter_block:
                CALLED(Reduce_scatter_block, reduce_scatter_block, in, out, count<Count>({}), to, op_.handle);
            case reduce_scatter: CALLED(Reduce_scatter, reduce_scatter, in, out, s.counts.data(), to, op_.handle);
            case neighbor_allgather: CALLED(Neighbor_allgather, neighbor_allgather, in, sent, from, out, received, to);
            case neighbor_allgatherv:
                CALLED(Neighbor_allgatherv, neighbor_allgatherv, in, sent, from, out, r.counts.data(), r.places.data(),
                       to);
            case neighbor_alltoall: CALLED(Neighbor_alltoall, neighbor_alltoall, in, sent, from, out, received, to);
            case neighbor_alltoallv:
                CALLED(Neighbor_alltoallv, neighbor_alltoallv, in, s.counts.data(), s.places.data(), from, out,
                       r.counts.data(), r.places.data(), to);
            case neighbor_alltoallw:
                CALLED(Neighbor_alltoallw, neighbor_alltoallw, in, s.counts.data(), s.bytes.data(), s.types.data(), out,
                       r.counts.data(), r.bytes.data(), r.types.data());
            default: return;
        }
#undef CALLED
    }

    const Comm comm_;
    const Mode mode_;
    std::uint64_t seed_;
    Random own_;
    int operation_, root_;
    bool large_, in_place_, sides_are_disordered_, recv_is_input_ = false;
    Operator op_;
    std::vector<std::shared_ptr<Type>> types_;
    std::size_t unit_, longest_;  // a block's length in elements is a multiple of unit_
    std::size_t recorded_items_ = SIZE_MAX;
    Side send_, recv_, parts_;
    Arrays<false> small_send_, small_recv_;
    Arrays<true> large_send_, large_recv_;
    std::string seen_;
};

// --- the program --------------------------------------------------------------------------

// In one of the ways in which a program learns that its requests are over, and `over(i)` as soon as it knows that
// number i is.
template <class Over>
void complete(std::vector<MPI_Request> requests, Random& own, bool persistent, Over&& over) {
    const int n = static_cast<int>(requests.size());
    std::vector<int> order(requests.size()), indices(requests.size());
    std::iota(order.begin(), order.end(), 0);
    int flag = 0, index = 0, several = 0;
    const auto all_over = [&] {
        for (int i = 0; i < n; ++i) over(i);
    };
    switch (own.below(persistent ? 7 : 9)) {  // MPICH 5.0.2's own MPI_Testall fails on persistent collectives
        case 0:
        case 1: MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE); return all_over();
        case 2:
            own.shuffle(order);
            for (const int i : order) MPI_Wait(&requests[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE), over(i);
            break;
        case 3:
            while (MPI_Waitany(n, requests.data(), &index, MPI_STATUS_IGNORE), index != MPI_UNDEFINED) over(index);
            break;
        case 4:
            while (MPI_Waitsome(n, requests.data(), &several, indices.data(), MPI_STATUSES_IGNORE), several != MPI_UNDEFINED)
                std::for_each_n(indices.begin(), several, over);
            break;
        case 5:
            for (int left = n; left > 0;) {
                own.shuffle(order);
                for (int& i : order) {
                    if (i < 0) continue;
                    MPI_Test(&requests[static_cast<std::size_t>(i)], &flag, MPI_STATUS_IGNORE);
                    if (flag) over(i), i = -1, --left;
                }
            }
            break;
        case 6:
            for (int i = 0; i < n; ++i) {
                MPI_Request& r = requests[static_cast<std::size_t>(i)];
                for (flag = 0; !flag;) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
                over(i);
                MPI_Wait(&r, MPI_STATUS_IGNORE);
            }
            break;
        case 7:
            while (!flag) MPI_Testall(n, requests.data(), &flag, MPI_STATUSES_IGNORE);
            return all_over();
        default:
            while (index != MPI_UNDEFINED) {
                MPI_Testany(n, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
                if (!flag) index = 0;
                else if (index != MPI_UNDEFINED) over(index);
            }
    }
}

// Messages around a ring while collectives are in flight.
class Messages {
public:
    Messages(const Comm& comm, std::uint64_t seed, Random& own) : sent_(mix(seed, 1) % 3 ? 8 : 100000) {
        received_.resize(sent_.size());
        std::fill(sent_.begin(), sent_.end(), mix(seed, static_cast<std::uint64_t>(comm.rank)));
        const int next = (comm.rank + 1) % comm.size, previous = (comm.rank + comm.size - 1) % comm.size,
                  n = static_cast<int>(sent_.size());
        const bool send_first = own.chance(50);
        if (send_first) MPI_Isend(sent_.data(), n, MPI_UINT64_T, next, 5, comm.handle, &requests[0]);
        MPI_Irecv(received_.data(), n, MPI_UINT64_T, previous, 5, comm.handle, &requests[1]);
        if (!send_first) MPI_Isend(sent_.data(), n, MPI_UINT64_T, next, 5, comm.handle, &requests[0]);
    }
    void record(std::ostream& out) const {
        out << "messages " << std::accumulate(received_.begin(), received_.end(), std::uint64_t{0}) << '\n';
    }
    MPI_Request requests[2];

private:
    std::vector<std::uint64_t> sent_, received_;
};

class Program {
public:
    Program(const Setting& setting, int rank, std::ostream& out) : setting_(setting), rank_(rank), out_(out) {}

    void take(const Comm& comm) { comms_.push_back(comm); }

    void run(std::uint64_t seed, int actions, int first, int last) {
        Random r(seed);
        for (int i = 0; i < actions; ++i) {
            const std::uint64_t own_seed = r.next();
            Random own(mix(own_seed, static_cast<std::uint64_t>(rank_) + 100)), action(own_seed);
            const int kind = action.below(100);
            const bool wanted = i >= first && i <= last;
            out_ << (in_thread_ ? "step " : "action ") << i << std::endl;
            delay(own);
            // Open MPI 5.0.11 hangs when two threads make communicators.
            if (kind < 14 && !in_thread_) make_communicator(action);
            else if (kind < 18 && !in_thread_) free_communicator(action);
            else if (!wanted) continue;
            else if (kind < 50) calls(action, own);
            else if (kind < 74) requests(action, own);
            else if (kind < 86) persistent_requests(action, own);
            else if (setting_.has.threads && !in_thread_) threads(action);
            else calls(action, own);
        }
    }

    // Communicators are freed in the order of their making, by all their ranks.
    void end() {
        for (Comm& comm : comms_)
            if (comm.handle != MPI_COMM_NULL && comm.handle != MPI_COMM_WORLD) MPI_Comm_free(&comm.handle);
    }

private:
    const Comm& any_comm(Random& r) { return r.chance(40) ? comms_[0] : r.one_of(comms_); }

    // Calls one after the other, alike or but for their lengths.
    void calls(Random& r, Random& own) {
        const Comm& comm = any_comm(r);
        const std::uint64_t shape = r.next();
        const int number = r.chance(50) ? 1 + r.below(3) : 1 + r.below(30);
        const bool lengths_change = r.chance(50);
        std::unique_ptr<Call> call;
        for (int i = 0; i < number; ++i) {
            const std::uint64_t seed = r.next();
            if (comm.handle == MPI_COMM_NULL) continue;
            if (!call || lengths_change)
                call = std::make_unique<Call>(setting_, comm, Mode::blocking, shape, seed, own);
            call->fill(i);
            delay(own);
            call->announce(out_);
            call->call();
            call->record(out_);
        }
    }

    // Several in flight, with blocking calls and messages in between.
    void requests(Random& r, Random& own) {
        std::vector<std::unique_ptr<Call>> all;
        std::vector<MPI_Request> requests;
        std::vector<Call*> calls;  // whose requests these are; none of a message
        std::unique_ptr<Messages> messages;
        const int number = 1 + r.below(r.chance(80) ? 4 : 20);
        for (int i = 0; i < number; ++i) {
            const Comm& comm = any_comm(r);
            const Mode mode = r.chance(80) ? Mode::non_blocking : Mode::blocking;
            const std::uint64_t seed = r.next();
            // What is drawn is the same on all ranks, whatever kind of communicator each of them has here.
            const bool freed = setting_.has.pending_frees && r.chance(30), messages_as_well = r.chance(10),
                       with_messages = messages_as_well && !in_thread_ && !comm.inter;
            if (comm.handle == MPI_COMM_NULL) continue;
            if (with_messages && !messages) {
                messages = std::make_unique<Messages>(comm, seed, own);
                requests.insert(requests.end(), messages->requests, messages->requests + 2);
                calls.resize(requests.size());
            }
            all.push_back(std::make_unique<Call>(setting_, comm, mode, seed, seed, own));
            Call& call = *all.back();
            call.fill(0);
            delay(own);
            call.announce(out_);
            call.call();
            if (mode == Mode::blocking) {
                call.look();
                continue;
            }
            if (freed) call.release_handles();
            requests.push_back(call.request);
            calls.push_back(&call);
            call.request = MPI_REQUEST_NULL;
        }
        delay(own, 30);
        complete(requests, own, false, [&](int i) {
            if (Call* const call = calls[static_cast<std::size_t>(i)]) call->look();
        });
        for (const auto& call : all) out_ << call->seen();
        if (messages) messages->record(out_);
    }

    void persistent_requests(Random& r, Random& own) {
        if (!setting_.has.persistent) return;
        std::vector<std::unique_ptr<Call>> all;
        const int number = 1 + r.below(4), rounds = r.below(5);
        for (int i = 0; i < number; ++i) {
            const Comm& comm = any_comm(r);
            const std::uint64_t seed = r.next();
            if (comm.handle == MPI_COMM_NULL || comm.inter) continue;
            all.push_back(std::make_unique<Call>(setting_, comm, Mode::persistent, seed, seed, own));
            all.back()->fill(0);
            all.back()->announce(out_);
            all.back()->call();
        }
        for (int round = 0; round < rounds; ++round) {
            std::vector<MPI_Request> requests;
            for (const auto& call : all) call->fill(round), requests.push_back(call->request);
            delay(own, 30);
            out_ << "round " << round << std::endl;
            if (own.chance(30) && !requests.empty()) MPI_Startall(static_cast<int>(requests.size()), requests.data());
            else for (MPI_Request& request : requests) MPI_Start(&request), delay(own);
            complete(requests, own, true, [&](int i) { all[static_cast<std::size_t>(i)]->look(); });
            for (const auto& call : all) out_ << call->seen();
        }
    }

    // Each thread has a communicator of its own, and all use some of the same datatypes.
    void threads(Random& r) {
        const int number = 2 + r.below(2);
        std::vector<std::ostringstream> outs(static_cast<std::size_t>(number));
        std::vector<std::unique_ptr<Program>> programs;
        const Comm& parent = any_comm(r);
        const std::uint64_t seed = r.next();
        if (parent.handle == MPI_COMM_NULL) return;
        std::vector<std::thread> threads;
        for (int i = 0; i < number; ++i) {
            programs.push_back(std::make_unique<Program>(setting_, rank_, outs[static_cast<std::size_t>(i)]));
            programs.back()->in_thread_ = true;
            programs.back()->take(duplicate(parent, mix(seed, static_cast<std::uint64_t>(i))));
        }
        for (std::size_t i = 0; i < programs.size(); ++i)
            threads.emplace_back([&, i] { programs[i]->run(mix(seed, 100 + i), 4, 0, 4); });
        for (std::thread& thread : threads) thread.join();
        for (std::size_t i = 0; i < programs.size(); ++i)
            programs[i]->end(), out_ << "thread " << i << '\n' << outs[i].str();
    }

    static Comm duplicate(const Comm& parent, std::uint64_t seed) {
        Comm comm = parent;
        MPI_Comm_dup(parent.handle, &comm.handle);
        comm.id = mix(parent.id, seed);
        return comm;
    }

    void make_communicator(Random& action) {
        if (comms_.size() > 12) return;
        const Comm parent = any_comm(action);
        const std::uint64_t id = mix(action.next(), parent.id);
        comms_.emplace_back();
        if (parent.handle == MPI_COMM_NULL) return;
        Random r(id);
        Comm& comm = comms_.back();
        MPI_Comm handle = MPI_COMM_NULL;
        const auto drawn = [&](int rank, int n) {
            return static_cast<int>(mix(id, static_cast<std::uint64_t>(rank) + 1000) % static_cast<std::uint64_t>(n));
        };
        const int n = parent.size, kind = r.below(9);
        if (parent.inter) {
            if (kind < 5) {
                comm = duplicate(parent, id);
            } else {
                MPI_Intercomm_merge(parent.handle, !parent.first_group, &handle);
                comm = Comm(handle, id);
            }
            return;
        }
        switch (kind) {
            case 0: comm = duplicate(parent, id); break;
            case 1:
            case 2: {  // the ranks in any order, some in none
                const int color =
                    r.chance(20) && drawn(parent.rank, 5) == 0 ? MPI_UNDEFINED : drawn(parent.rank, 1 + r.below(3));
                MPI_Comm_split(parent.handle, color, drawn(parent.rank, 97), &handle);
                comm = Comm(handle, mix(id, static_cast<std::uint64_t>(color)));
                break;
            }
            case 3: {
                MPI_Group group, chosen;
                std::vector<int> ranks;
                for (int i = 0; i < n; ++i)
                    if (drawn(i, 4) > 0) ranks.push_back(i);
                r.shuffle(ranks);
                MPI_Comm_group(parent.handle, &group);
                MPI_Group_incl(group, static_cast<int>(ranks.size()), ranks.data(), &chosen);
                const bool member = std::find(ranks.begin(), ranks.end(), parent.rank) != ranks.end();
                if (r.chance(50)) MPI_Comm_create(parent.handle, chosen, &handle);
                else if (member) MPI_Comm_create_group(parent.handle, chosen, 3, &handle);
                MPI_Group_free(&group);
                MPI_Group_free(&chosen);
                comm = Comm(handle, id);
                break;
            }
            case 4:
            case 5: {
                int dims[3] = {}, periods[3];
                const int number = 1 + r.below(3);
                MPI_Dims_create(n > 2 && r.chance(30) ? n - 1 : n, number, dims);
                // Where both neighbors are the same rank the MPI libraries differ from each other.
                for (int i = 0; i < number; ++i) periods[i] = dims[i] > 2 && r.chance(50);
                MPI_Cart_create(parent.handle, number, dims, periods, 0, &handle);
                comm = Comm(handle, id);
                comm.topology = true;
                for (int i = 0; i < number && handle != MPI_COMM_NULL; ++i) {
                    int below, above;
                    MPI_Cart_shift(handle, i, 1, &below, &above);
                    for (std::vector<int>* side : {&comm.sources, &comm.destinations})
                        side->insert(side->end(), {below, above});
                }
                break;
            }
            case 6:
            case 7: {
                const int density = 1 + r.below(4);
                const auto edge = [&](int from, int to) { return drawn(from * 64 + to, 4) < density; };
                for (int i = 0; i < n; ++i) {
                    if (edge(i, parent.rank)) comm.sources.push_back(i);
                    if (edge(parent.rank, i)) comm.destinations.push_back(i);
                }
                Random own(mix(id, static_cast<std::uint64_t>(parent.rank)));
                own.shuffle(comm.sources);
                own.shuffle(comm.destinations);
                MPI_Dist_graph_create_adjacent(parent.handle, static_cast<int>(comm.sources.size()),
                                               comm.sources.data(), MPI_UNWEIGHTED,
                                               static_cast<int>(comm.destinations.size()), comm.destinations.data(),
                                               MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &handle);
                Comm graph(handle, id);
                graph.topology = true;
                graph.sources = comm.sources;
                graph.destinations = comm.destinations;
                comm = graph;
                break;
            }
            default: {
                if (n < 2) return;
                const int first = 1 + r.below(n - 1);  // ranks of the first group
                const bool in_first = parent.rank < first;
                MPI_Comm local;
                MPI_Comm_split(parent.handle, in_first, 0, &local);
                MPI_Intercomm_create(local, 0, parent.handle, in_first ? first : 0, 4, &handle);
                MPI_Comm_free(&local);
                comm = Comm(handle, id);
                comm.inter = true;
                comm.first_group = in_first;
                MPI_Comm_remote_size(handle, &comm.remote_size);
            }
        }
    }

    void free_communicator(Random& r) {
        if (comms_.size() < 2) return;
        const std::size_t i = 1 + r.next() % (comms_.size() - 1);
        if (comms_[i].handle != MPI_COMM_NULL)
            r.chance(70) ? MPI_Comm_free(&comms_[i].handle) : MPI_Comm_disconnect(&comms_[i].handle);
        comms_.erase(comms_.begin() + static_cast<std::ptrdiff_t>(i));
    }

    const Setting& setting_;
    int rank_;
    std::ostream& out_;
    std::vector<Comm> comms_;
    bool in_thread_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
    const int actions = std::atoi(argv[3]), first = argc > 4 ? std::atoi(argv[4]) : 0,
              last = argc > 5 ? std::atoi(argv[5]) : actions;
    Random r(seed);
    Setting setting{};
    Features& has = setting.has;
    has.threads = r.chance(25);
    has.large_counts = r.chance(25);  // where the MPI has them: what is drawn does not depend on that
    has.mixed_types = r.chance(20);
    has.derived_types = r.chance(60);
    has.users_operators = r.chance(50);
    has.pending_frees = r.chance(20);
    has.persistent = argc < 7;
    int provided, rank;
    const int wanted = has.threads ? MPI_THREAD_MULTIPLE : r.chance(50) ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    if (provided < MPI_THREAD_MULTIPLE) has.threads = false;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    setting.bases = all_bases();
    std::ofstream out(std::string(argv[1]) + '/' + std::to_string(rank));
    out << "threads " << has.threads << " mixed types " << has.mixed_types << " derived types " << has.derived_types
        << " user's operators " << has.users_operators << " pending frees " << has.pending_frees << '\n';
    Program program(setting, rank, out);
    program.take(Comm(MPI_COMM_WORLD, mix(seed)));
    program.run(mix(seed, 1), actions, first, last);
    program.end();
    out << "end" << std::endl;
    MPI_Finalize();
}
