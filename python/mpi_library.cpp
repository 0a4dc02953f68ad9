#include "mpi_library.h"

#include <dlfcn.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <stdexcept>

namespace nb = nanobind;

namespace fanlight::python {

Library& library = *new Library;  // its Python objects outlive the interpreter

Operation operations[] = {{"barrier", Kind::barrier},     {"bcast", Kind::bcast},
                          {"reduce", Kind::reduce},       {"allreduce", Kind::allreduce},
                          {"scan", Kind::allreduce},      {"exscan", Kind::allreduce},
                          {"reduce_scatter_block", Kind::allreduce}, {"allgather", Kind::movement},
                          {"alltoall", Kind::movement},   {"gather", Kind::rooted_movement},
                          {"scatter", Kind::rooted_movement}};

namespace {

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

}  // namespace

void raise_mpi(int code) {
    PyErr_SetObject(library.exception.ptr(), nb::object(library.exception(code)).ptr());
    throw nb::python_error();
}

void must_be_up(const char* name) {
    int flag = 0;
    library.is_finalized(&flag);
    if (flag) throw std::runtime_error(std::string(name) + ": MPI has been finalized (MPI_Finalize)");
    if (library.initialized) return;
    library.is_initialized(&flag);
    if (!flag) throw std::runtime_error(std::string(name) + ": MPI has not been initialized (MPI_Init)");
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

bool all_match(const Comm& comm, const Signature* own, int& code) {
    const std::uint64_t mine[2] = {own ? own->hash : ~std::uint64_t{0}, own ? ~own->hash : ~std::uint64_t{0}};
    std::uint64_t most[2] = {0, 0};
    code = library.allreduce(mine, most, 2, library.unsigned64, library.max, comm.handle);
    return code == 0 && most[0] == ~most[1];
}

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
    find(l.write_report, found, "fanlight_write_report");
    l.collectives = found ? found : &l;  // RTLD_DEFAULT is null
}

bool preloaded() { return dlsym(RTLD_DEFAULT, "fanlight_allgatherv_any") != nullptr; }

}  // namespace fanlight::python
