// MPI's collective operations by Fanlight, for C++20: collectives.h with ranges for buffers,
// exceptions for errors, and requests whose destructors wait.
//
//   fanlight::Communicator world(MPI_COMM_WORLD);
//   std::vector<double> part = ..., sum(part.size());
//   world.allreduce(part, sum);                                // MPI_SUM
//   double most = world.allreduce(part[0], MPI_MAX);           // one value
//   world.bcast(sum, 0);
//   auto request = world.nonblocking().allgather(part, all);   // a Request
//   request.wait();
//   auto again = world.persistent().allreduce(part, sum);      // a PersistentRequest
//   again.start();
//   again.wait();
//
// Counts and displacements of the v forms must live as long as the operation, as buffers must.
// (For neighborhoods, alltoallw, large counts and intercommunicators call the functions of collectives.h.)
//
// A buffer is any contiguous range of elements (std::vector, std::array, std::span, an array).  Its
// length gives the number of elements; in a gather, scatter or alltoall it holds the blocks of all
// ranks.  fanlight::in_place stands for MPI_IN_PLACE.  Datatype<T> maps element types to datatypes.
//
// Errors throw fanlight::Error with MPI's code and text.  Buffers whose lengths do not fit each other
// throw std::invalid_argument, before anything is sent.
#ifndef FANLIGHT_FANLIGHT_HPP
#define FANLIGHT_FANLIGHT_HPP

#include <climits>
#include <complex>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fanlight/collectives.h"

namespace fanlight {

class Error : public std::runtime_error {
public:
    explicit Error(int code) : std::runtime_error(text(code)), code_(code) {}
    int code() const noexcept { return code_; }  // MPI_Error_class tells its class

private:
    static std::string text(int code) {
        char said[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(code, said, &length);
        return {said, static_cast<std::size_t>(length)};
    }
    int code_;
};

namespace detail {

inline void check(int code) {
    if (code != MPI_SUCCESS) throw Error(code);
}
inline void demand(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(std::string("fanlight: ") + otherwise);
}

}  // namespace detail

// Memory that the other ranks of the node can load from: std::vector<double, fanlight::Allocator<double>>.
template <class T>
struct Allocator {
    using value_type = T;
    Allocator() = default;
    template <class U>
    Allocator(const Allocator<U>&) noexcept {}
    T* allocate(std::size_t count) {
        static_assert(alignof(T) <= 64);
        if (count <= static_cast<std::size_t>(-1) / sizeof(T))
            if (void* const block = fanlight_alloc_mem(count * sizeof(T))) return static_cast<T*>(block);
        throw std::bad_alloc();
    }
    void deallocate(T* block, std::size_t) noexcept { fanlight_free_mem(block); }
    template <class U>
    bool operator==(const Allocator<U>&) const noexcept { return true; }
};

// --- elements and buffers --------------------------------------------------------------------

// The datatype of T.  A program specializes it for structures of its own:
//   template <> struct fanlight::Datatype<Particle> { static MPI_Datatype get() { return particle; } };
template <class T>
struct Datatype {};

#define FANLIGHT_DATATYPE(type, mpi) \
    template <>                      \
    struct Datatype<type> {          \
        static MPI_Datatype get() { return mpi; } \
    };
FANLIGHT_DATATYPE(char, MPI_CHAR)
FANLIGHT_DATATYPE(signed char, MPI_SIGNED_CHAR)
FANLIGHT_DATATYPE(unsigned char, MPI_UNSIGNED_CHAR)
FANLIGHT_DATATYPE(std::byte, MPI_BYTE)
FANLIGHT_DATATYPE(bool, MPI_C_BOOL)
FANLIGHT_DATATYPE(short, MPI_SHORT)
FANLIGHT_DATATYPE(unsigned short, MPI_UNSIGNED_SHORT)
FANLIGHT_DATATYPE(int, MPI_INT)
FANLIGHT_DATATYPE(unsigned, MPI_UNSIGNED)
FANLIGHT_DATATYPE(long, MPI_LONG)
FANLIGHT_DATATYPE(unsigned long, MPI_UNSIGNED_LONG)
FANLIGHT_DATATYPE(long long, MPI_LONG_LONG)
FANLIGHT_DATATYPE(unsigned long long, MPI_UNSIGNED_LONG_LONG)
FANLIGHT_DATATYPE(float, MPI_FLOAT)
FANLIGHT_DATATYPE(double, MPI_DOUBLE)
FANLIGHT_DATATYPE(long double, MPI_LONG_DOUBLE)
FANLIGHT_DATATYPE(std::complex<float>, MPI_C_FLOAT_COMPLEX)
FANLIGHT_DATATYPE(std::complex<double>, MPI_C_DOUBLE_COMPLEX)
#undef FANLIGHT_DATATYPE

template <class T>
concept Element = requires {
    { Datatype<std::remove_cv_t<T>>::get() } -> std::same_as<MPI_Datatype>;
};

struct InPlace {};
inline constexpr InPlace in_place;

// What a rank gives, and what it gets.
template <class B>
concept Output = std::ranges::contiguous_range<B> && std::ranges::sized_range<B> &&
                 Element<std::ranges::range_value_t<B>> &&
                 !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<B>>>;
template <class B>
concept Range = std::ranges::contiguous_range<B> && std::ranges::sized_range<B> && Element<std::ranges::range_value_t<B>>;
template <class B>
concept Input = Range<B> || std::same_as<std::remove_cvref_t<B>, InPlace>;

namespace detail {

template <class B>
inline constexpr bool is_in_place = std::same_as<std::remove_cvref_t<B>, InPlace>;

// Whether the elements outlive the call.
template <class B>
inline constexpr bool stays = is_in_place<B> || std::ranges::borrowed_range<B>;

template <class B>
const void* input(B&& b) {
    if constexpr (is_in_place<B>) return MPI_IN_PLACE;
    else return std::ranges::data(b);
}
template <class B>
void* output(B&& b) { return std::ranges::data(b); }

inline int to_int(std::size_t n) {
    if (n > INT_MAX) throw std::length_error("fanlight: more than 2^31 - 1 elements");
    return static_cast<int>(n);
}
template <class B>
std::size_t length(B&& b) {
    if constexpr (is_in_place<B>) return 0;
    else return std::ranges::size(b);
}
template <class B>
int count(B&& b) { return to_int(length(b)); }
// One of so many blocks.
template <class B>
int block(B&& b, int blocks) {
    demand(length(b) % static_cast<std::size_t>(blocks) == 0, "a buffer of blocks is no multiple of the number of ranks");
    return to_int(length(b) / static_cast<std::size_t>(blocks));
}
template <class B>
MPI_Datatype type() {
    if constexpr (is_in_place<B>) return MPI_DATATYPE_NULL;
    else return Datatype<std::ranges::range_value_t<B>>::get();
}
template <class I, class O>
void must_agree(I&& in, O&& out) {
    if constexpr (!is_in_place<I>) {
        static_assert(std::same_as<std::ranges::range_value_t<I>, std::ranges::range_value_t<O>>, "one type of element");
        demand(length(in) == length(out), "input and output differ in length");
    }
}

}  // namespace detail

// --- requests --------------------------------------------------------------------------------

// A non-blocking operation.  Its buffers must live until it is complete; it waits when it ends.
class [[nodiscard]] Request {
public:
    Request() = default;
    explicit Request(MPI_Request handle) : handle_(handle) {}
    Request(Request&& other) noexcept : handle_(std::exchange(other.handle_, MPI_REQUEST_NULL)) {}
    Request& operator=(Request&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Request() {
        if (handle_ != MPI_REQUEST_NULL) MPI_Wait(&handle_, MPI_STATUS_IGNORE);
    }

    void wait() { detail::check(MPI_Wait(&handle_, MPI_STATUS_IGNORE)); }
    bool test() {
        int done = 0;
        detail::check(MPI_Test(&handle_, &done, MPI_STATUS_IGNORE));
        return done != 0;
    }
    // For MPI_Waitall and so on; what it becomes there is this request's as well.
    MPI_Request& handle() { return handle_; }

private:
    MPI_Request handle_ = MPI_REQUEST_NULL;
};

// An operation that is started again and again, on the same buffers.
class [[nodiscard]] PersistentRequest {
public:
    explicit PersistentRequest(MPI_Request handle) : handle_(handle) {}
    PersistentRequest(PersistentRequest&& other) noexcept : handle_(std::exchange(other.handle_, MPI_REQUEST_NULL)) {}
    PersistentRequest& operator=(PersistentRequest&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~PersistentRequest() {
        if (handle_ == MPI_REQUEST_NULL) return;
        MPI_Wait(&handle_, MPI_STATUS_IGNORE);  // at once, where it is not active
        MPI_Request_free(&handle_);
    }

    void start() { detail::check(MPI_Start(&handle_)); }
    void wait() { detail::check(MPI_Wait(&handle_, MPI_STATUS_IGNORE)); }
    bool test() {
        int done = 0;
        detail::check(MPI_Test(&handle_, &done, MPI_STATUS_IGNORE));
        return done != 0;
    }
    MPI_Request& handle() { return handle_; }

private:
    MPI_Request handle_;
};

// --- the operations --------------------------------------------------------------------------

namespace detail {

// The three ways in which an operation is run: of its C functions each takes one.
struct Blocking {
    template <class Run, class Start, class Init, class... Arguments>
    static void go(MPI_Comm comm, Run run, Start, Init, Arguments... arguments) { check(run(arguments..., comm)); }
    static constexpr bool returns_at_once = false;
};
struct Nonblocking {
    template <class Run, class Start, class Init, class... Arguments>
    static Request go(MPI_Comm comm, Run, Start start, Init, Arguments... arguments) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(start(arguments..., comm, &request));
        return Request(request);
    }
    static constexpr bool returns_at_once = true;
};
struct Persistent {
    template <class Run, class Start, class Init, class... Arguments>
    static PersistentRequest go(MPI_Comm comm, Run, Start, Init init, Arguments... arguments) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(init(arguments..., comm, MPI_INFO_NULL, &request));
        return PersistentRequest(request);
    }
    static constexpr bool returns_at_once = true;
};

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define FANLIGHT_FORMS(name) fanlight_##name, fanlight_i##name, fanlight_##name##_init
#else
#define FANLIGHT_FORMS(name) fanlight_##name, fanlight_i##name, nullptr
#endif

}  // namespace detail

template <class Way>
class Operations {
public:
    explicit Operations(MPI_Comm comm) : comm_(comm) {
        detail::check(MPI_Comm_rank(comm, &rank_));
        detail::check(MPI_Comm_size(comm, &size_));
    }

    auto barrier() const { return Way::go(comm_, FANLIGHT_FORMS(barrier)); }

    // The same length on all ranks.
    template <Output B>
    auto bcast(B&& buffer, int root) const {
        keep<B>();
        return Way::go(comm_, FANLIGHT_FORMS(bcast), detail::output(buffer), detail::count(buffer), detail::type<B>(), root);
    }

    // `out` counts at the root alone, where `in` may be in_place; elsewhere it may be empty.
    template <Input I, Output O>
    auto reduce(I&& in, O&& out, int root, MPI_Op op = MPI_SUM) const {
        keep<I, O>();
        if (rank_ == root) detail::must_agree(in, out);
        return Way::go(comm_, FANLIGHT_FORMS(reduce), detail::input(in), detail::output(out),
                       rank_ == root ? detail::count(out) : detail::count(in), detail::type<O>(), op, root);
    }
    template <Input I, Output O>
    auto allreduce(I&& in, O&& out, MPI_Op op = MPI_SUM) const {
        return same_lengths<I, O>(in, out, op, FANLIGHT_FORMS(allreduce));
    }
    template <Element T>
        requires(!Way::returns_at_once)
    T allreduce(T value, MPI_Op op = MPI_SUM) const {
        T result{};
        allreduce(std::span<const T>(std::addressof(value), 1), std::span<T>(std::addressof(result), 1), op);
        return result;
    }
    template <Input I, Output O>
    auto scan(I&& in, O&& out, MPI_Op op = MPI_SUM) const {
        return same_lengths<I, O>(in, out, op, FANLIGHT_FORMS(scan));
    }
    // Rank 0's `out` stays as it is.
    template <Input I, Output O>
    auto exscan(I&& in, O&& out, MPI_Op op = MPI_SUM) const {
        return same_lengths<I, O>(in, out, op, FANLIGHT_FORMS(exscan));
    }
    // `in` has a block of out's length for each rank; in_place: `out` has, and its first block is
    // the result.
    template <Input I, Output O>
    auto reduce_scatter_block(I&& in, O&& out, MPI_Op op = MPI_SUM) const {
        keep<I, O>();
        int count = detail::count(out);
        if constexpr (detail::is_in_place<I>) count = detail::block(out, size_);
        else detail::demand(detail::length(in) == detail::length(out) * size(), "the input needs a block for each rank");
        return Way::go(comm_, FANLIGHT_FORMS(reduce_scatter_block), detail::input(in), detail::output(out), count,
                       detail::type<O>(), op);
    }

    // The same with counts[r] elements for rank r; `out` is as long as this rank's block, or in place
    // as all of them.
    template <Input I, Output O>
    auto reduce_scatter(I&& in, O&& out, std::span<const int> counts, MPI_Op op = MPI_SUM) const {
        keep<I, O>();
        detail::demand(counts.size() == size(), "a count for each rank is needed");
        std::size_t all = 0;
        for (const int n : counts) all += static_cast<std::size_t>(n);
        detail::demand((detail::is_in_place<I> || detail::length(in) == all) &&
                           detail::length(out) >= (detail::is_in_place<I> ? all : static_cast<std::size_t>(counts[own()])),
                       "a buffer's length does not fit the counts");
        return Way::go(comm_, FANLIGHT_FORMS(reduce_scatter), detail::input(in), detail::output(out), counts.data(),
                       detail::type<O>(), op);
    }

    // `out`: a block for each rank; so of alltoall's `in`.
    template <Input I, Output O>
    auto allgather(I&& in, O&& out) const {
        return blocks<I, O>(in, out, detail::count(in), detail::block(out, size_), FANLIGHT_FORMS(allgather));
    }
    template <Input I, Output O>
    auto alltoall(I&& in, O&& out) const {
        return blocks<I, O>(in, out, detail::block(in, size_), detail::block(out, size_), FANLIGHT_FORMS(alltoall));
    }
    // The buffer of all blocks counts at the root alone, and may be empty elsewhere.
    template <Input I, Output O>
    auto gather(I&& in, O&& out, int root) const {
        return blocks<I, O>(in, out, detail::count(in), rank_ == root ? detail::block(out, size_) : 0, FANLIGHT_FORMS(gather), root);
    }
    // in: elements of the type of `out`.
    template <Range I, Output O>
    auto scatter(I&& in, O&& out, int root) const {
        return blocks<I, O>(in, out, rank_ == root ? detail::block(in, size_) : 0, detail::count(out), FANLIGHT_FORMS(scatter), root);
    }

    // Counts and places (of all ranks, in elements) are MPI's.
    template <Input I, Output O>
    auto allgatherv(I&& in, O&& out, std::span<const int> counts, std::span<const int> places) const {
        keep<I, O>();
        fit(counts, places, detail::length(out));
        must_match<I, O>(detail::count(in), counts[own()]);
        return Way::go(comm_, FANLIGHT_FORMS(allgatherv), detail::input(in), detail::count(in), detail::type<I>(),
                       detail::output(out), counts.data(), places.data(), detail::type<O>());
    }
    template <Input I, Output O>
    auto gatherv(I&& in, O&& out, std::span<const int> counts, std::span<const int> places, int root) const {
        keep<I, O>();
        if (rank_ == root) {
            fit(counts, places, detail::length(out));
            must_match<I, O>(detail::count(in), counts[own()]);
        }
        return Way::go(comm_, FANLIGHT_FORMS(gatherv), detail::input(in), detail::count(in), detail::type<I>(),
                       detail::output(out), counts.data(), places.data(), detail::type<O>(), root);
    }
    template <Range I, Output O>
    auto scatterv(I&& in, std::span<const int> counts, std::span<const int> places, O&& out, int root) const {
        keep<I, O>();
        if (rank_ == root) {
            fit(counts, places, detail::length(in));
            must_match<I, O>(counts[own()], detail::count(out));
        }
        return Way::go(comm_, FANLIGHT_FORMS(scatterv), detail::input(in), counts.data(), places.data(), detail::type<I>(),
                       detail::output(out), detail::count(out), detail::type<O>(), root);
    }
    template <Range I, Output O>
    auto alltoallv(I&& in, std::span<const int> in_counts, std::span<const int> in_places, O&& out,
                   std::span<const int> out_counts, std::span<const int> out_places) const {
        keep<I, O>();
        fit(in_counts, in_places, detail::length(in));
        fit(out_counts, out_places, detail::length(out));
        return Way::go(comm_, FANLIGHT_FORMS(alltoallv), detail::input(in), in_counts.data(),
                       in_places.data(), detail::type<I>(), detail::output(out), out_counts.data(), out_places.data(),
                       detail::type<O>());
    }

protected:
    ~Operations() = default;
    Operations(const Operations&) = default;
    Operations& operator=(const Operations&) = default;
    std::size_t size() const { return static_cast<std::size_t>(size_); }
    std::size_t own() const { return static_cast<std::size_t>(rank_); }

    MPI_Comm comm_;
    int rank_ = 0, size_ = 1;

private:
    // Buffers of what goes on after the call must not be temporaries.
    template <class... Buffers>
    static void keep() {
        static_assert(!Way::returns_at_once || (detail::stays<Buffers> && ...), "this buffer would end before the operation");
    }

    template <class I, class O, class... Forms>
    auto same_lengths(I& in, O& out, MPI_Op op, Forms... forms) const {
        keep<I, O>();
        detail::must_agree(in, out);
        return Way::go(comm_, forms..., detail::input(in), detail::output(out), detail::count(out), detail::type<O>(), op);
    }

    template <class I, class O, class Run, class Start, class Init, class... Root>
    auto blocks(I& in, O& out, int send, int receive, Run run, Start start, Init init, Root... root) const {
        keep<I, O>();
        if (((rank_ == root) && ...)) must_match<I, O>(send, receive);
        return Way::go(comm_, run, start, init, detail::input(in), send, detail::type<I>(), detail::output(out), receive,
                       detail::type<O>(), root...);
    }

    // A block where it is given and where it is got, both at this rank; elements of different types MPI counts by itself.
    template <class I, class O>
    static void must_match(int send, int receive) {
        detail::demand(detail::type<I>() != detail::type<O>() || send == receive, "a block is longer in one of the buffers than in the other");
    }

    void fit(std::span<const int> counts, std::span<const int> places, std::size_t length) const {
        detail::demand(counts.size() == size() && places.size() == size(), "a count and a place for each rank are needed");
        for (std::size_t r = 0; r < size(); ++r)
            detail::demand(counts[r] >= 0 && (counts[r] == 0 || (places[r] >= 0 && static_cast<std::size_t>(places[r]) + static_cast<std::size_t>(counts[r]) <= length)),
                           "a block lies outside of its buffer");
    }
};

struct NonblockingOperations : Operations<detail::Nonblocking> {
    using Operations::Operations;
};
struct PersistentOperations : Operations<detail::Persistent> {
    using Operations::Operations;
};

// A duplicate of the program's communicator, which is served from the beginning, and whose errors
// are exceptions.  To make one, and to end one, is collective; it must end before MPI_Finalize.
class Communicator : public Operations<detail::Blocking> {
public:
    explicit Communicator(MPI_Comm comm) : Operations(duplicate(comm)) {}
    Communicator(Communicator&& other) noexcept : Operations(other) { other.comm_ = MPI_COMM_NULL; }
    Communicator& operator=(Communicator&& other) noexcept {
        std::swap(comm_, other.comm_);
        std::swap(rank_, other.rank_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Communicator() {
        if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    }

    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm handle() const { return comm_; }

    NonblockingOperations nonblocking() const { return NonblockingOperations(comm_); }
    PersistentOperations persistent() const { return PersistentOperations(comm_); }

    // Collective, the same text on all ranks: "bcast:tree(degree=4)"; "" for the rules.
    void set_algorithm(const std::string& algorithms) { detail::check(fanlight_set_algorithm(comm_, algorithms.c_str())); }
    // Which one would serve such a call, and why.
    std::string algorithm(const std::string& operation, std::size_t bytes) const {
        char text[512];
        detail::check(fanlight_get_algorithm(comm_, operation.c_str(), static_cast<MPI_Count>(bytes), text, sizeof text));
        return text;
    }

private:
    static MPI_Comm duplicate(MPI_Comm comm) {
        MPI_Comm own = MPI_COMM_NULL;
        detail::check(MPI_Comm_dup(comm, &own));
        MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
        detail::check(fanlight_prepare(own));
        return own;
    }
};

#undef FANLIGHT_FORMS

}  // namespace fanlight

#endif
