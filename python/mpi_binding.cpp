// fanlight._mpi: the collectives for mpi4py's communicators and arrays.
//
// One build for all MPIs.  The functions are looked up in libfanlight-<abi>.so; a handle, whatever its size, is passed
// as a machine word (an int is the word's lower half, in registers and on the stack of a little-endian machine).
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "buffer.h"

namespace nb = nanobind;
using namespace nb::literals;

static_assert(std::endian::native == std::endian::little);

namespace {

using Word = std::uintptr_t;
using fanlight::python::Buffer;

// What allgatherv_any gathers in one operation; what is more takes a second one, into the new array itself.
constexpr int record_capacity = 64 << 10;

// What is known since use().
struct Library {
    void* collectives = nullptr;
    void* (*handle_of_comm)(PyObject*) = nullptr;
    void* (*handle_of_op)(PyObject*) = nullptr;
    std::size_t handle_bytes = 0;
    Word comm_null = 0, in_place = 0, byte = 0, unsigned64 = 0, max = 0;
    std::vector<std::pair<std::string, Word>> elements;  // "f8" and so on
    std::vector<Word> operators;                         // MPI's own
    nb::object empty, as_array, exception, intercomm;
    nb::object dtype;       // its name, made once
    nb::object last_dtype;  // of allgatherv_any, with what its buffer said of it, which takes numpy as long as all the rest
    std::shared_ptr<const std::string> last_format;  // other threads may replace it during a call
    int truncated = 0;
    bool checks = true, initialized = false;

    int (*comm_size)(Word, int*) = nullptr;
    int (*comm_rank)(Word, int*) = nullptr;
    int (*is_initialized)(int*) = nullptr;
    int (*is_finalized)(int*) = nullptr;
    int (*error_class)(int, int*) = nullptr;
    int (*wait)(Word*, void*) = nullptr;
    int (*test)(Word*, int*, void*) = nullptr;
    int (*allreduce)(const void*, void*, int, Word, Word, Word) = nullptr;
    int (*allgatherv_any)(const void*, int, Word, void*, int, int*, int*, Word, Word) = nullptr;
    int (*allgatherv)(const void*, int, Word, void*, const int*, const int*, Word, Word) = nullptr;
    int (*prepare)(Word) = nullptr;
    int (*set_algorithm)(Word, const char*) = nullptr;
    int (*get_algorithm)(Word, const char*, long long, char*, int) = nullptr;
};
Library& library = *new Library;  // its Python objects outlive the interpreter

enum class Kind { barrier, bcast, reduce, allreduce, movement, rooted_movement };
struct Operation {
    const char* name;
    Kind kind;
    void* blocking = nullptr;
    void* nonblocking = nullptr;
};
enum Index { barrier, bcast, reduce, allreduce, scan, exscan, reduce_scatter_block, allgather, alltoall, gather, scatter };
Operation operations[] = {{"barrier", Kind::barrier},     {"bcast", Kind::bcast},
                          {"reduce", Kind::reduce},       {"allreduce", Kind::allreduce},
                          {"scan", Kind::allreduce},      {"exscan", Kind::allreduce},
                          {"reduce_scatter_block", Kind::allreduce}, {"allgather", Kind::movement},
                          {"alltoall", Kind::movement},   {"gather", Kind::rooted_movement},
                          {"scatter", Kind::rooted_movement}};

template <class F>
void find(F& function, void* where, const std::string& name) {
    function = reinterpret_cast<F>(dlsym(where, name.c_str()));
    if (!function) throw std::runtime_error("Fanlight's library or the MPI library has no " + name);
}

Word handle_at(const void* address) {
    Word word = 0;
    std::memcpy(&word, address, library.handle_bytes);
    return word;
}

[[noreturn]] void raise_mpi(int code) {
    PyErr_SetObject(library.exception.ptr(), nb::object(library.exception(code)).ptr());
    throw nb::python_error();
}

// --- communicators and operators -----------------------------------------------------------

struct Comm {
    Word handle = 0;
    int size = 0, rank = 0;
};

void must_be_up(const char* name) {
    int flag = 0;
    library.is_finalized(&flag);
    if (flag) throw std::runtime_error(std::string(name) + ": MPI has been finalised (MPI_Finalize)");
    if (library.initialized) return;
    library.is_initialized(&flag);
    if (!flag) throw std::runtime_error(std::string(name) + ": MPI has not been initialised (MPI_Init)");
    library.initialized = true;
}

Comm comm_of(const char* name, nb::handle object) {
    if (!library.collectives) throw std::runtime_error("fanlight._mpi.use() comes first");
    must_be_up(name);
    const void* const address = library.handle_of_comm(object.ptr());
    if (!address) {
        PyErr_Clear();
        throw nb::type_error((std::string(name) + ": `comm` is no communicator of mpi4py's, but a " + Py_TYPE(object.ptr())->tp_name).c_str());
    }
    Comm comm{.handle = handle_at(address)};
    if (comm.handle == library.comm_null)
        throw nb::value_error((std::string(name) + ": the communicator is MPI.COMM_NULL; it may have been freed").c_str());
    if (reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == library.intercomm.ptr())
        throw nb::type_error((std::string(name) + ": `comm` is an intercommunicator").c_str());
    if (int code = library.comm_size(comm.handle, &comm.size)) raise_mpi(code);
    if (int code = library.comm_rank(comm.handle, &comm.rank)) raise_mpi(code);
    return comm;
}

Word op_of(const char* name, nb::handle object) {
    const void* const address = library.handle_of_op(object.ptr());
    if (!address) {
        PyErr_Clear();
        throw nb::type_error((std::string(name) + ": `op` is no operator of mpi4py's, but a " + Py_TYPE(object.ptr())->tp_name).c_str());
    }
    return handle_at(address);
}

// --- what the ranks must agree on ----------------------------------------------------------

struct Signature {
    std::uint64_t hash = 0xcbf29ce484222325u;
    void add(std::string_view text) {
        for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    void add(std::uint64_t number) {
        hash = (hash ^ number) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    void add(const Buffer& b, int first_axis = 0) {
        add(b.format());
        for (int i = first_axis; i < b.dimensions(); ++i) add(static_cast<std::uint64_t>(b.shape()[i]));
        add(static_cast<std::uint64_t>(b.dimensions()));
    }
};

// By all ranks: whether they gave the same.  Who has an error says so in place of it, so that nobody waits for it.
bool all_match(const Comm& comm, const Signature* own, int& code) {
    const std::uint64_t mine[2] = {own ? own->hash : ~std::uint64_t{0}, own ? ~own->hash : ~std::uint64_t{0}};
    std::uint64_t most[2] = {0, 0};
    code = library.allreduce(mine, most, 2, library.unsigned64, library.max, comm.handle);
    return code == 0 && most[0] == ~most[1];
}

bool checked(const Comm& comm, bool blocking) { return blocking && library.checks && comm.size > 1; }

// --- a call --------------------------------------------------------------------------------

struct Call {
    const Operation* operation = nullptr;
    Comm comm;
    Buffer input, output;
    nb::object result = nb::none();
    const void* send = nullptr;
    void* receive = nullptr;
    int count = 0;  // of one block
    Word type = 0, op = 0;
    int root = 0;
    Signature signature;

    [[noreturn]] void wrong(const std::string& what) const { throw nb::value_error((operation->name + (": " + what)).c_str()); }

    template <class... Arguments>
    static int call(void* function, Word* request, Arguments... arguments) {
        if (request) return reinterpret_cast<int (*)(Arguments..., Word*)>(function)(arguments..., request);
        return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
    }
    int start(Word* request) const {
        void* const f = request ? operation->nonblocking : operation->blocking;
        switch (operation->kind) {
            case Kind::barrier: return call(f, request, comm.handle);
            case Kind::bcast: return call(f, request, receive, count, type, root, comm.handle);
            case Kind::reduce: return call(f, request, send, receive, count, type, op, root, comm.handle);
            case Kind::allreduce: return call(f, request, send, receive, count, type, op, comm.handle);
            case Kind::movement: return call(f, request, send, count, type, receive, count, type, comm.handle);
            case Kind::rooted_movement: return call(f, request, send, count, type, receive, count, type, root, comm.handle);
        }
        return 0;
    }

    void prepare(nb::handle x, nb::handle out, nb::handle with, int with_root);

private:
    bool at_root() const { return comm.rank == root; }
    void take_input(nb::handle x) { input.take(x, false, operation->name, "x"); }
    // What the caller gave for it, or a new array; of the input's elements.
    void take_output(nb::handle out, nb::handle x, std::vector<Py_ssize_t> shape);
    void moved(const Buffer& block, std::size_t bytes);
    void reduced(const Buffer& vector, std::size_t elements, nb::handle with);
    void in_place_or_apart(bool may_be_in_place);
};

void Call::take_output(nb::handle out, nb::handle x, std::vector<Py_ssize_t> shape) {
    if (out.is_none()) {
        nb::list lengths;
        for (const Py_ssize_t n : shape) lengths.append(n);
        result = library.empty(nb::tuple(lengths), nb::getattr(x, "dtype"));
    } else {
        result = nb::borrow(out);
    }
    output.take(result, true, operation->name, "out");
    if (output.format() != input.format())
        wrong("`out` has elements " + output.element() + ", `x` has " + input.element());
    if (!output.has_shape(shape)) wrong("`out` has shape " + output.shape_text() + ", needed is " + Buffer::text_of(shape));
}

void Call::moved(const Buffer& block, std::size_t bytes) {
    if (block.has_objects()) wrong("Python objects cannot be sent as an array; mpi4py's comm." + std::string(operation->name) + "() pickles them");
    const std::size_t unit = bytes % 8 == 0 ? 8 : 1;
    if (bytes / unit > INT_MAX) wrong("blocks of " + std::to_string(bytes) + " bytes are too long for MPI");
    type = unit == 8 ? library.unsigned64 : library.byte;
    count = static_cast<int>(bytes / unit);
}

void Call::reduced(const Buffer& vector, std::size_t elements, nb::handle with) {
    if (elements > INT_MAX) wrong(std::to_string(elements) + " elements are too many for MPI");
    count = static_cast<int>(elements);
    const std::string element = vector.native_element();
    for (const auto& [name, handle] : library.elements)
        if (name == element) type = handle;
    if (!type) wrong("MPI has no reduction of elements " + vector.element());
    op = op_of(operation->name, with);
    std::uint64_t number = 0;
    for (const Word known : library.operators) {
        ++number;
        if (known == op) break;
    }
    signature.add(number);
}

void Call::in_place_or_apart(bool may_be_in_place) {
    const auto* const a = static_cast<const char*>(input.data());
    const auto* const b = static_cast<const char*>(output.data());
    if (!input.bytes() || !output.bytes() || a + input.bytes() <= b || b + output.bytes() <= a) return;
    if (!may_be_in_place || a != b || input.bytes() != output.bytes()) wrong("`x` and `out` overlap");
    send = reinterpret_cast<const void*>(library.in_place);
}

void Call::prepare(nb::handle x, nb::handle out, nb::handle with, int with_root) {
    root = with_root;
    if (root < 0 || root >= comm.size) wrong("root " + std::to_string(root) + " is none of " + std::to_string(comm.size) + " ranks");
    signature.add(std::string_view(operation->name));
    signature.add(static_cast<std::uint64_t>(root));
    const auto blocks = [&](const Buffer& b) {
        if (b.dimensions() < 1 || b.shape()[0] != comm.size)
            wrong("`x` has shape " + b.shape_text() + ", but its first axis must have one block for each of the " + std::to_string(comm.size) + " ranks");
        return std::vector<Py_ssize_t>(b.shape() + 1, b.shape() + b.dimensions());
    };
    switch (operation - operations) {
        case barrier: return;
        case bcast:
            output.take(x, !at_root(), operation->name, "x");
            result = nb::borrow(x);
            signature.add(output);
            moved(output, output.bytes());
            break;
        case scatter:
            output.take(out, true, operation->name, "out");
            result = nb::borrow(out);
            signature.add(output);
            moved(output, output.bytes());
            if (!at_root()) break;
            take_input(x);
            if (input.format() != output.format()) wrong("`out` has elements " + output.element() + ", `x` has " + input.element());
            if (!output.has_shape(blocks(input))) wrong("`out` has shape " + output.shape_text() + ", a block of `x` has " + Buffer::text_of(blocks(input)));
            send = input.data();
            in_place_or_apart(false);
            break;
        default: {
            take_input(x);
            send = input.data();
            signature.add(input);
            std::vector<Py_ssize_t> shape(input.shape(), input.shape() + input.dimensions());
            const bool reduces = operation->kind == Kind::reduce || operation->kind == Kind::allreduce;
            const bool root_only = operation->kind == Kind::reduce || operation->kind == Kind::rooted_movement;
            if (operation - operations == allgather || operation - operations == gather) {
                shape.insert(shape.begin(), comm.size);
                moved(input, input.bytes());
            } else if (operation - operations == alltoall) {
                blocks(input);
                moved(input, input.bytes() / static_cast<std::size_t>(comm.size));
            } else if (operation - operations == reduce_scatter_block) {
                shape = blocks(input);
                reduced(input, input.elements() / static_cast<std::size_t>(comm.size), with);
            } else {
                reduced(input, input.elements(), with);
            }
            if (root_only && !at_root()) break;
            take_output(out, x, std::move(shape));
            in_place_or_apart(reduces && operation - operations != reduce_scatter_block);
        }
    }
    receive = output.data();
}

// --- requests ------------------------------------------------------------------------------

class Request {
public:
    explicit Request(std::unique_ptr<Call> call, nb::object comm) : call_(std::move(call)), comm_(std::move(comm)) {
        if (const int code = call_->start(&handle_)) raise_mpi(code);
        started_ = true;
    }
    Request(const Request&) = delete;
    // The arrays belong to the operation until it is over.
    ~Request() {
        int over = 0;
        if (!started_ || !call_ || library.is_finalized(&over) || over) return;
        nb::gil_scoped_release release;
        library.wait(&handle_, status_);
    }

    nb::object wait() {
        if (call_) {
            must_be_up("wait");
            int code;
            {
                nb::gil_scoped_release release;
                code = library.wait(&handle_, status_);
            }
            finish(code);
        }
        return result_;
    }
    bool test() {
        if (!call_) return true;
        must_be_up("test");
        int done = 0, code;
        {
            nb::gil_scoped_release release;
            code = library.test(&handle_, &done, status_);
        }
        if (done || code) finish(code);
        return done;
    }

private:
    void finish(int code) {
        result_ = std::move(call_->result);
        call_.reset();
        comm_.reset();
        if (code) raise_mpi(code);
    }
    std::unique_ptr<Call> call_;
    nb::object comm_, result_ = nb::none();
    Word handle_ = 0;
    bool started_ = false;
    alignas(16) char status_[64];
};

// --- the functions -------------------------------------------------------------------------

// Says on all ranks what is wrong, on this one (`own`) or on others.
[[noreturn]] void mismatch(const char* name, const std::exception_ptr& own, const std::string& here) {
    if (own) std::rethrow_exception(own);
    throw nb::value_error((std::string(name) + ": the ranks' arguments do not match, or another rank's are wrong; here: " + here).c_str());
}

nb::object run(int index, nb::handle comm_object, nb::handle x, nb::handle out, nb::handle op, int root, bool blocking) {
    auto call = std::make_unique<Call>();
    call->operation = &operations[index];
    const char* const name = call->operation->name;
    call->comm = comm_of(name, comm_object);
    std::exception_ptr own;
    try {
        const bool is_array = x.is_none() || nb::hasattr(x, "dtype");
        call->prepare(is_array ? nb::borrow(x) : nb::object(library.as_array(x)), out, op, root);
    } catch (...) {
        own = std::current_exception();
    }
    const bool check = checked(call->comm, blocking);
    if (own && !check) std::rethrow_exception(own);
    if (!blocking) return nb::cast(new Request(std::move(call), nb::borrow(comm_object)), nb::rv_policy::take_ownership);
    bool match = true;
    int code = 0;
    {
        nb::gil_scoped_release release;
        if (check) match = all_match(call->comm, own ? nullptr : &call->signature, code);
        if (match) code = call->start(nullptr);
    }
    if (code) raise_mpi(code);
    if (!match) {
        const Buffer& shown = call->input.taken() ? call->input : call->output;
        mismatch(name, own, (shown.taken() ? shown.element() + " of shape " + shown.shape_text() + ", " : "") + "root " + std::to_string(root));
    }
    return std::move(call->result);
}

// Seconds of so many calls of Fanlight's function alone, for the benchmark.
double seconds_in_c(int index, nb::handle comm_object, nb::handle x, nb::handle out, nb::handle op, int calls) {
    Call call;
    call.operation = &operations[index];
    call.comm = comm_of(call.operation->name, comm_object);
    call.prepare(x, out, op, 0);
    nb::gil_scoped_release release;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call.start(nullptr);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nb::tuple allgatherv_any(nb::handle comm_object, nb::handle given) {
    const char* const name = "allgatherv_any";
    const Comm comm = comm_of(name, comm_object);
    const auto wrong = [&](const std::string& what) { throw nb::value_error((std::string(name) + ": " + what).c_str()); };
    std::exception_ptr own;
    std::shared_ptr<const std::string> format;
    Buffer input;
    Signature signature;
    nb::object x = nb::borrow(given), dtype;
    std::size_t row = 0;
    try {
        dtype = nb::steal(PyObject_GetAttr(x.ptr(), library.dtype.ptr()));
        if (!dtype.is_valid()) {
            PyErr_Clear();
            x = library.as_array(x);
            dtype = x.attr(library.dtype);
        }
        const bool known = dtype.is(library.last_dtype);
        if (known) format = library.last_format;
        input.take(x, false, name, "x", known ? format->c_str() : nullptr);
        if (!known) {
            library.last_dtype = dtype;
            library.last_format = std::make_shared<const std::string>(input.format());
        }
        if (input.has_objects()) wrong("Python objects cannot be sent as an array; mpi4py's comm.allgather() pickles them");
        if (input.dimensions() < 1) wrong("`x` is a single element; it must have at least one axis");
        row = input.element_bytes();
        for (int i = 1; i < input.dimensions(); ++i) row *= static_cast<std::size_t>(input.shape()[i]);
        if (!row) wrong("`x` has shape " + input.shape_text() + ": its rows are empty");
        if (input.bytes() > INT_MAX) wrong(std::to_string(input.bytes()) + " bytes are too many for MPI");
        signature.add(std::string_view(name));
        signature.add(input, 1);
    } catch (...) {
        own = std::current_exception();
    }
    const bool check = checked(comm, true);
    if (own && !check) std::rethrow_exception(own);
    static thread_local std::vector<int> counts, displacements;
    static thread_local std::unique_ptr<char[]> records;
    if (!records) records.reset(new char[record_capacity]);
    counts.resize(static_cast<std::size_t>(comm.size));
    displacements.resize(counts.size());
    bool match = true;
    int code = 0, kind = 0;
    const int bytes = static_cast<int>(input.bytes());
    {
        nb::gil_scoped_release release;
        if (check) match = all_match(comm, own ? nullptr : &signature, code);
        if (match) code = library.allgatherv_any(input.data(), bytes, library.byte, records.get(), record_capacity, counts.data(),
                                                 displacements.data(), library.byte, comm.handle);
    }
    if (!match && !code) mismatch(name, own, input.element() + " of shape " + input.shape_text());
    if (code) library.error_class(code, &kind);
    if (code && kind != library.truncated) raise_mpi(code);
    const auto total = static_cast<std::size_t>(displacements.back()) + static_cast<std::size_t>(counts.back());
    nb::object shape = nb::int_(total / row);
    if (input.dimensions() > 1) {
        nb::list lengths;
        lengths.append(shape);
        for (int i = 1; i < input.dimensions(); ++i) lengths.append(input.shape()[i]);
        shape = nb::tuple(lengths);
    }
    nb::object data = library.empty(shape, dtype);
    Buffer output;
    output.take_new(data);
    if (!code) {
        if (total) std::memcpy(output.data(), records.get(), total);
    } else {
        {
            nb::gil_scoped_release release;
            code = library.allgatherv(input.data(), bytes, library.byte, output.data(), counts.data(), displacements.data(), library.byte, comm.handle);
        }
        if (code) raise_mpi(code);
    }
    nb::list rows;
    for (const int c : counts) rows.append(static_cast<std::size_t>(c) / row);
    return nb::make_tuple(data, rows);
}

void prepare(nb::handle comm) {
    const Word handle = comm_of("prepare", comm).handle;
    int code;
    {
        nb::gil_scoped_release release;
        code = library.prepare(handle);
    }
    if (code) raise_mpi(code);
}

void set_algorithm(nb::handle comm, const std::string& algorithms) {
    const Word handle = comm_of("set_algorithm", comm).handle;
    int code;
    {
        nb::gil_scoped_release release;
        code = library.set_algorithm(handle, algorithms.c_str());
    }
    if (code) raise_mpi(code);
}

std::string explain(nb::handle comm, const std::string& operation, long long bytes) {
    const Word handle = comm_of("explain", comm).handle;
    char text[1024] = "";
    if (int code = library.get_algorithm(handle, operation.c_str(), bytes, text, sizeof text)) raise_mpi(code);
    return text;
}

// `collectives`: the file of Fanlight's library, none where it is preloaded; `mpi4py`: mpi4py.MPI.
void use(const std::string& collectives, nb::object mpi4py) {
    Library& l = library;
    nb::object numpy = nb::module_::import_("numpy");
    nb::dict api = mpi4py.attr("__pyx_capi__");
    const auto function = [&](const char* name) {
        nb::object capsule = api[name];
        return reinterpret_cast<void* (*)(PyObject*)>(PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr())));
    };
    l.handle_of_comm = function("PyMPIComm_Get");
    l.handle_of_op = function("PyMPIOp_Get");
    nb::object comm = mpi4py.attr("Comm");
    l.handle_bytes = nb::cast<std::size_t>(mpi4py.attr("_sizeof")(comm));
    const auto handle = [&](const char* name) {
        nb::object address = mpi4py.attr("_addressof")(mpi4py.attr(name));
        return handle_at(reinterpret_cast<const void*>(nb::cast<Word>(address)));
    };
    l.comm_null = handle("COMM_NULL");
    // MPI_IN_PLACE: (void*)-1 in MPICH's ABI, (void*)1 in Open MPI's and the standard one.
    l.in_place = l.handle_bytes == 4 ? ~Word{0} : 1;
    l.byte = handle("BYTE");
    l.unsigned64 = handle("UINT64_T");
    l.max = handle("MAX");
    for (const auto& [name, type] : {std::pair{"i1", "INT8_T"}, {"i2", "INT16_T"}, {"i4", "INT32_T"}, {"i8", "INT64_T"},
                                     {"u1", "UINT8_T"}, {"u2", "UINT16_T"}, {"u4", "UINT32_T"}, {"u8", "UINT64_T"},
                                     {"f4", "FLOAT"}, {"f8", "DOUBLE"}, {"f16", "LONG_DOUBLE"}, {"b1", "C_BOOL"},
                                     {"c8", "C_FLOAT_COMPLEX"}, {"c16", "C_DOUBLE_COMPLEX"}})
        l.elements.emplace_back(name, handle(type));
    for (const char* name : {"SUM", "PROD", "MAX", "MIN", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR", "MAXLOC", "MINLOC"})
        l.operators.push_back(handle(name));
    l.dtype = nb::steal(PyUnicode_InternFromString("dtype"));
    l.empty = numpy.attr("empty");
    l.as_array = numpy.attr("asarray");
    l.exception = mpi4py.attr("Exception");
    l.intercomm = mpi4py.attr("Intercomm");
    l.truncated = nb::cast<int>(mpi4py.attr("ERR_TRUNCATE"));

    const std::string file = nb::cast<std::string>(mpi4py.attr("__file__"));
    void* const mpi = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!mpi) throw std::runtime_error("mpi4py's module is not loaded as " + file);
    find(l.comm_size, mpi, "MPI_Comm_size");
    find(l.comm_rank, mpi, "MPI_Comm_rank");
    find(l.is_initialized, mpi, "MPI_Initialized");
    find(l.is_finalized, mpi, "MPI_Finalized");
    find(l.error_class, mpi, "MPI_Error_class");
    void* const found = collectives.empty() ? RTLD_DEFAULT : dlopen(collectives.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!found && !collectives.empty()) throw std::runtime_error(std::string("Fanlight's library cannot be loaded: ") + dlerror());
    for (Operation& o : operations) {
        find(o.blocking, found, std::string("fanlight_") + o.name);
        find(o.nonblocking, found, std::string("fanlight_i") + o.name);
    }
    find(l.wait, found, "MPI_Wait");
    find(l.test, found, "MPI_Test");
    find(l.allreduce, found, "fanlight_allreduce");
    find(l.allgatherv_any, found, "fanlight_allgatherv_any");
    find(l.allgatherv, found, "fanlight_allgatherv");
    find(l.prepare, found, "fanlight_prepare");
    find(l.set_algorithm, found, "fanlight_set_algorithm");
    find(l.get_algorithm, found, "fanlight_get_algorithm");
    l.collectives = found ? found : &l;  // RTLD_DEFAULT is null
}

bool preloaded() { return dlsym(RTLD_DEFAULT, "fanlight_allgatherv_any") != nullptr; }

}  // namespace

NB_MODULE(_mpi, m) {
    m.doc() = "Fanlight's collectives for mpi4py's communicators: see fanlight.collectives";
    m.def("use", &use, "collectives"_a, "mpi4py"_a);
    m.def("preloaded", &preloaded);
    m.def("run", &run, "index"_a, "comm"_a, "x"_a.none(), "out"_a.none(), "op"_a.none(), "root"_a, "blocking"_a);
    m.def("seconds_in_c", &seconds_in_c, "index"_a, "comm"_a, "x"_a, "out"_a, "op"_a, "calls"_a);
    m.def("allgatherv_any", &allgatherv_any, "comm"_a, "x"_a);
    m.def("operations", [] {
        std::vector<std::string> names;
        for (const Operation& o : operations) names.emplace_back(o.name);
        return names;
    });
    m.def("check_arguments", [](bool on) { library.checks = on; }, "on"_a);
    m.def("prepare", &prepare, "comm"_a);
    m.def("set_algorithm", &set_algorithm, "comm"_a, "algorithms"_a);
    m.def("explain", &explain, "comm"_a, "operation"_a, "bytes"_a);
    nb::class_<Request>(m, "Request", "An operation that has been started; its arrays belong to it until it is over.")
        .def("wait", &Request::wait, "Until it is over; its result.")
        .def("test", &Request::test, "Whether it is over.");
}
