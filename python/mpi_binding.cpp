// fanlight._mpi: the collectives for mpi4py's communicators and arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <exception>

#include "mpi_call.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fanlight::python;

namespace {

// What allgatherv_any gathers in one operation; what is more takes a second one, into the new array itself.
constexpr int record_capacity = 64 << 10;

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

// Converted here and not by nanobind, whose error would leave the other ranks in their comparison.
int rank_of(nb::handle root, const Call& call) {
    const std::string name = call.operation->name;
    const auto number = nb::steal(PyNumber_Index(root.ptr()));
    if (!number.is_valid()) {
        PyErr_Clear();
        throw nb::type_error((name + ": `root` is no rank: " + nb::repr(root).c_str()).c_str());
    }
    int overflow = 0;
    const long rank = PyLong_AsLongAndOverflow(number.ptr(), &overflow);
    if (overflow || rank < 0 || rank >= call.comm.size)
        throw nb::value_error((name + ": root " + nb::str(number).c_str() + " is none of " + std::to_string(call.comm.size) + " ranks").c_str());
    return static_cast<int>(rank);
}

nb::object run(int index, nb::handle comm_object, nb::handle x, nb::handle out, nb::handle op, nb::handle root, bool blocking) {
    auto call = std::make_unique<Call>();
    call->operation = &operations[index];
    const char* const name = call->operation->name;
    call->comm = comm_of(name, comm_object);
    std::exception_ptr own;
    try {
        const bool is_array = x.is_none() || nb::hasattr(x, "dtype");
        call->prepare(is_array ? nb::borrow(x) : nb::object(library.as_array(x)), out, op, rank_of(root, *call));
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
        mismatch(name, own, (shown.taken() ? shown.element() + " of shape " + shown.shape_text() + ", " : "") + "root " + std::to_string(call->root));
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
    // Where arguments are not checked other ranks' rows may be longer or shorter: each has room for all of it.
    nb::object shape = nb::int_((total + row - 1) / row);
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
    if (std::ranges::any_of(counts, [row](int c) { return static_cast<std::size_t>(c) % row != 0; }))
        throw nb::value_error((std::string(name) + ": a rank's rows have another length than this rank's").c_str());
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

void write_report(const std::string& file) {
    must_be_up("report");
    int code;
    {
        nb::gil_scoped_release release;
        code = library.write_report(file.c_str());
    }
    if (code) raise_mpi(code);
}

}  // namespace

NB_MODULE(_mpi, m) {
    m.doc() = "Fanlight's collectives for mpi4py's communicators: see fanlight.collectives";
    m.def("use", &use, "collectives"_a, "mpi4py"_a);
    m.def("preloaded", &preloaded);
    m.def("must_be_up", &must_be_up, "name"_a);
    m.def("run", &run, "index"_a, "comm"_a, "x"_a.none(), "out"_a.none(), "op"_a.none(), "root"_a.none(), "blocking"_a);
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
    m.def("write_report", &write_report, "file"_a);
    nb::class_<Request>(m, "Request", "An operation that has been started; its arrays belong to it until it is over.")
        .def("wait", &Request::wait, "Until it is over; its result.")
        .def("test", &Request::test, "Whether it is over.");
}
