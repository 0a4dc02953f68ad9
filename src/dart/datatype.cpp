#include "dart/datatype.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <mutex>
#include <type_traits>

#include "global/runtime.h"
#include "global/table.h"

namespace fanlight::dart {

namespace {

template <class T>
constexpr fanlight_type number() {
    if (std::is_same_v<T, float>) return FANLIGHT_FLOAT;
    if (std::is_same_v<T, double>) return FANLIGHT_DOUBLE;
    if (std::is_same_v<T, long double>) return FANLIGHT_LONG_DOUBLE;
    constexpr bool is_signed = std::is_signed_v<T>;
    if (sizeof(T) == 1) return is_signed ? FANLIGHT_INT8 : FANLIGHT_UINT8;
    if (sizeof(T) == 2) return is_signed ? FANLIGHT_INT16 : FANLIGHT_UINT16;
    if (sizeof(T) == 4) return is_signed ? FANLIGHT_INT32 : FANLIGHT_UINT32;
    return is_signed ? FANLIGHT_INT64 : FANLIGHT_UINT64;
}

struct MadeType {
    Datatype type;
    MPI_Datatype mpi = MPI_DATATYPE_NULL;
    std::int32_t id = -1;
    ~MadeType() {
        if (mpi != MPI_DATATYPE_NULL) MPI_Type_free(&mpi);
    }
};

const Datatype* basic(dart_datatype_t type) {
    // Never destroyed: static objects of the program may use it when they are.
    static const auto& all = *[] {
        auto* const types = new std::vector<Datatype>(static_cast<std::size_t>(DART_TYPE_LAST));
        const auto add = [&](dart_datatype_t t, fanlight_type number) {
            Datatype& made = (*types)[static_cast<std::size_t>(t)];
            made.base = t;
            made.bytes = basic_bytes[t];
            made.number = number;
        };
#define TYPE(name, c, mpi) add(name, number<c>());
        FANLIGHT_BASIC_TYPES(TYPE)
#undef TYPE
        return types;
    }();
    return &all[static_cast<std::size_t>(type)];
}

// Found without a lock: a program's every get looks its types up.
constinit global::Table<MadeType> made_types;

dart_datatype_t number_of(const MadeType& made) { return DART_TYPE_LAST + made.id; }

MadeType* find(dart_datatype_t type) {
    const auto id = type - DART_TYPE_LAST;
    return id > 0 && id <= INT32_MAX ? made_types.find(static_cast<std::int32_t>(id)) : nullptr;
}

std::mutex mutex;
constexpr std::size_t most = PTRDIFF_MAX;  // bytes of anything

// Null where it is no type whose elements are in one piece.
const Datatype* base_type(dart_datatype_t type) {
    const Datatype* const found = datatype(type);
    return found && found->base == type ? found : nullptr;
}

dart_ret_t keep(const char* function, std::unique_ptr<MadeType> made, dart_datatype_t* result) {
    if (!global::is_up()) return status(function, global::not_up());
    const std::scoped_lock lock(mutex);
    made->id = made_types.propose(0);
    if (made->id < 0) return invalid(function, "too many datatypes at once");
    if (made->type.kind == Datatype::Kind::custom) made->type.base = number_of(*made);
    *result = number_of(*made);
    made_types.put(made.release());
    return DART_OK;
}

}  // namespace

const Datatype* datatype(dart_datatype_t type) {
    if (is_basic(type)) return basic(type);
    const MadeType* const made = find(type);
    return made ? &made->type : nullptr;
}

MPI_Datatype mpi_datatype(dart_datatype_t type) {
    switch (type) {
#define TYPE(name, c, mpi) \
    case name: return mpi;
        FANLIGHT_BASIC_TYPES(TYPE)
#undef TYPE
        default: break;
    }
    const MadeType* const made = find(type);
    return made ? made->mpi : MPI_DATATYPE_NULL;
}

std::optional<global::Layout> layout_of(const Datatype& type, std::size_t nelem) {
    using global::Layout;
    std::size_t bytes;
    if (__builtin_mul_overflow(nelem, type.bytes, &bytes) || bytes > SIZE_MAX / 2) return std::nullopt;
    // No division for the blocks of one element that most strided types have.
    const std::size_t repeats = type.elements == 1 ? nelem : nelem / type.elements;
    if (repeats * type.elements != nelem) return std::nullopt;
    switch (type.kind) {
        case Datatype::Kind::strided:
            return Layout::strided(repeats, type.elements * type.bytes, type.stride);
        case Datatype::Kind::indexed:
            return Layout{.count = type.lengths.size(),
                          .lengths = type.lengths.data(),
                          .offsets = type.offsets.data(),
                          .repeats = repeats,
                          .extent = type.extent};
        default: return Layout::contiguous(bytes);
    }
}

}  // namespace fanlight::dart

using namespace fanlight;
using namespace fanlight::dart;

dart_ret_t dart_type_create_strided(dart_datatype_t base, size_t stride, size_t blocklen, dart_datatype_t* result) {
    const Datatype* const element = base_type(base);
    if (!result || !element || blocklen == 0 || stride < blocklen || stride > most / element->bytes)
        return invalid("dart_type_create_strided", "no basic or custom type, or a stride shorter than its block or too long");
    auto made = std::make_unique<MadeType>();
    made->type = *element;
    made->type.kind = Datatype::Kind::strided;
    made->type.elements = blocklen;
    made->type.stride = stride * made->type.bytes;
    made->type.contiguous = stride == blocklen;
    return keep("dart_type_create_strided", std::move(made), result);
}

dart_ret_t dart_type_create_indexed(dart_datatype_t base, size_t count, const size_t* blocklen, const size_t* offset,
                                    dart_datatype_t* result) {
    const Datatype* const element = base_type(base);
    if (!result || !element || count == 0 || !blocklen || !offset)
        return invalid("dart_type_create_indexed", "no basic or custom type, or no blocks");
    auto made = std::make_unique<MadeType>();
    Datatype& type = made->type;
    type = *element;
    type.kind = Datatype::Kind::indexed;
    type.elements = 0;
    type.contiguous = false;
    size_t first = most, end = 0;
    for (size_t i = 0; i < count; ++i) {
        if (std::max({blocklen[i], offset[i], type.elements}) > most / 2 / type.bytes)
            return invalid("dart_type_create_indexed", "a block longer, or further away, than there is memory");
        if (blocklen[i] == 0) continue;
        type.elements += blocklen[i];
        type.lengths.push_back(blocklen[i] * type.bytes);
        type.offsets.push_back(offset[i] * type.bytes);
        first = std::min(first, type.offsets.back());
        end = std::max(end, type.lengths.back() + type.offsets.back());
    }
    if (type.elements == 0) return invalid("dart_type_create_indexed", "all blocks are empty");
    type.extent = end - first;  // as MPI's types have it
    return keep("dart_type_create_indexed", std::move(made), result);
}

dart_ret_t dart_type_create_custom(size_t bytes, dart_datatype_t* result) {
    if (!result || bytes == 0 || bytes > INT_MAX)
        return invalid("dart_type_create_custom", "an element has 1 to 2147483647 bytes");
    if (!global::is_up()) return status("dart_type_create_custom", global::not_up());
    auto made = std::make_unique<MadeType>();
    made->type.kind = Datatype::Kind::custom;
    made->type.bytes = bytes;
    MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &made->mpi);
    MPI_Type_commit(&made->mpi);
    return keep("dart_type_create_custom", std::move(made), result);
}

dart_ret_t dart_type_destroy(dart_datatype_t* type) {
    if (!global::is_up()) return status("dart_type_destroy", global::not_up());
    const std::scoped_lock lock(mutex);
    const std::unique_ptr<MadeType> made(type ? find(*type) : nullptr);
    if (!made) return invalid("dart_type_destroy", "no type that the program has made");
    made_types.take(made.get());
    *type = DART_TYPE_UNDEFINED;
    return DART_OK;
}
