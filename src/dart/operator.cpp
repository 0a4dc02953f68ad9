#include "dart/operator.h"

#include <map>
#include <memory>
#include <mutex>

#include "dart/datatype.h"
#include "global/arithmetic.h"
#include "global/runtime.h"

namespace fanlight::dart {

namespace {

// MPI tells its function which datatype it reduces and nothing else: each operator has a
// datatype of its own, by which it is found.
struct Operator {
    dart_operator_t function;
    void* userdata;
    dart_datatype_t type;
    MPI_Datatype mpi_type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
};
struct Operators {
    std::mutex mutex;
    std::map<dart_operation_t, std::unique_ptr<Operator>> made;
    std::map<MPI_Datatype, Operator*> by_type;
    dart_operation_t next = DART_OP_LAST + 1;
    struct MinMax {
        MPI_Datatype pair;
        MPI_Op op;
    };
    std::map<dart_datatype_t, MinMax> minmax;
};
Operators& operators() {
    static Operators& o = *new Operators;
    return o;
}

void call(void* in, void* inout, int* count, MPI_Datatype* type) {
    Operators& o = operators();
    const Operator* found = nullptr;
    {
        const std::scoped_lock lock(o.mutex);
        found = o.by_type.at(*type);
    }
    found->function(in, inout, static_cast<std::size_t>(*count), found->userdata);
}

template <class T>
void minmax(void* in, void* inout, int* pairs, MPI_Datatype*) {
    const T* const a = static_cast<const T*>(in);
    T* const b = static_cast<T*>(inout);
    for (int i = 0; i < 2 * *pairs; i += 2) {
        if (a[i] < b[i]) b[i] = a[i];
        if (b[i + 1] < a[i + 1]) b[i + 1] = a[i + 1];
    }
}

MPI_User_function* minmax_of(dart_datatype_t type) {
    switch (type) {
#define TYPE(name, c, mpi) \
    case name: return minmax<c>;
        FANLIGHT_BASIC_TYPES(TYPE)
#undef TYPE
        default: return nullptr;
    }
}

// Pairs as elements: MPI never takes them apart.
Reduction minmax_reduction(dart_datatype_t type, std::size_t nelem) {
    if (!is_basic(type) || nelem % 2 != 0) return {};
    Operators& o = operators();
    const std::scoped_lock lock(o.mutex);
    const auto [it, fresh] = o.minmax.try_emplace(type);
    if (fresh) {
        MPI_Type_contiguous(2, mpi_datatype(type), &it->second.pair);
        MPI_Type_commit(&it->second.pair);
        MPI_Op_create(minmax_of(type), 1, &it->second.op);
    }
    return {it->second.op, it->second.pair, nelem / 2};
}

}  // namespace

bool atomic_operator(dart_operation_t op, fanlight_operator& result) {
    switch (op) {
        case DART_OP_MIN: result = FANLIGHT_MIN; return true;
        case DART_OP_MAX: result = FANLIGHT_MAX; return true;
        case DART_OP_SUM: result = FANLIGHT_SUM; return true;
        case DART_OP_PROD: result = FANLIGHT_PROD; return true;
        case DART_OP_BAND: result = FANLIGHT_BAND; return true;
        case DART_OP_LAND: result = FANLIGHT_LAND; return true;
        case DART_OP_BOR: result = FANLIGHT_BOR; return true;
        case DART_OP_LOR: result = FANLIGHT_LOR; return true;
        case DART_OP_BXOR: result = FANLIGHT_BXOR; return true;
        case DART_OP_LXOR: result = FANLIGHT_LXOR; return true;
        case DART_OP_REPLACE: result = FANLIGHT_REPLACE; return true;
        case DART_OP_NO_OP: result = FANLIGHT_NO_OP; return true;
        default: return false;
    }
}

Reduction reduction(dart_operation_t op, dart_datatype_t type, std::size_t nelem) {
    if (op == DART_OP_MINMAX) return minmax_reduction(type, nelem);
    if (op > DART_OP_LAST) {
        Operators& o = operators();
        const std::scoped_lock lock(o.mutex);
        const auto found = o.made.find(op);
        if (found == o.made.end() || found->second->type != type) return {};
        return {found->second->op, found->second->mpi_type, nelem};
    }
    fanlight_operator known;
    if (!is_basic(type) || !atomic_operator(op, known) || known > (type >= DART_TYPE_FLOAT ? FANLIGHT_PROD : FANLIGHT_LXOR)) return {};
    return {global::mpi_op(known), mpi_datatype(type), nelem};
}

}  // namespace fanlight::dart

using namespace fanlight;
using namespace fanlight::dart;

dart_ret_t dart_op_create(dart_operator_t function, void* userdata, bool commute, dart_datatype_t type, bool,
                          dart_operation_t* result) {
    if (!function || !result || mpi_datatype(type) == MPI_DATATYPE_NULL)
        return invalid("dart_op_create", "no function, or no contiguous type");
    if (!global::is_up()) return status("dart_op_create", global::not_up());
    auto made = std::make_unique<Operator>(Operator{function, userdata, type});
    // Its own copy, so that the type may be destroyed before the operator.
    MPI_Type_dup(mpi_datatype(type), &made->mpi_type);
    MPI_Op_create(call, commute, &made->op);
    Operators& o = operators();
    const std::scoped_lock lock(o.mutex);
    o.by_type[made->mpi_type] = made.get();
    *result = o.next++;
    o.made[*result] = std::move(made);
    return DART_OK;
}

dart_ret_t dart_op_destroy(dart_operation_t* op) {
    if (!global::is_up()) return status("dart_op_destroy", global::not_up());
    Operators& o = operators();
    const std::scoped_lock lock(o.mutex);
    const auto found = op ? o.made.find(*op) : o.made.end();
    if (found == o.made.end()) return invalid("dart_op_destroy", "no operator that the program has made");
    o.by_type.erase(found->second->mpi_type);
    MPI_Type_free(&found->second->mpi_type);
    MPI_Op_free(&found->second->op);
    o.made.erase(found);
    *op = DART_OP_UNDEFINED;
    return DART_OK;
}
