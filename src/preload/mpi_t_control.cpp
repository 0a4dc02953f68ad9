// MPI_T's control variables: the settings, under the names of their environment variables.  They can be written until the
// first collective call, which reads them.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "collective/hooks.h"
#include "config/config.h"
#include "config/parse.h"
#include "preload/mpi_t.h"

namespace fanlight::mpi_t {

namespace {

// One of MPI_T's types for each of config.def's.
MPI_Datatype datatype_of(const Setting& s) {
    if (s.type == "boolean") return MPI_INT;
    if (s.type == "integer") return MPI_COUNT;
    if (s.type == "bytes") return MPI_UNSIGNED_LONG;
    if (s.type == "seconds") return MPI_DOUBLE;
    return MPI_CHAR;
}

// Read as the program is started, by the shared heap or the fanlight command: a tool comes too late.
bool is_constant(const Setting& s) { return s.field == "heap" || s.field == "heap_from" || s.field == "lib_dir"; }

// A text has room for so many characters, at least, with the 0 at its end.
constexpr int room = 4096;

struct ControlHandle {
    const Setting& setting;
    int count;

    void read(void* buffer) const {
        const std::string text = setting.value(present_config());
        if (setting.type == "boolean") put<int>(buffer, parse_boolean(text).value_or(false));
        else if (setting.type == "integer") put<MPI_Count>(buffer, parse_integer(text).value_or(0));
        else if (setting.type == "bytes") put<unsigned long>(buffer, parse_bytes(text).value_or(0));
        else if (setting.type == "seconds") put<double>(buffer, parse_seconds(text).value_or(0));
        else static_cast<char*>(buffer)[text.copy(static_cast<char*>(buffer), static_cast<std::size_t>(count - 1))] = 0;
    }
    std::string text_in(const void* buffer) const {
        if (setting.type == "boolean") return get<int>(buffer) ? "1" : "0";
        if (setting.type == "integer") return std::to_string(get<MPI_Count>(buffer));
        if (setting.type == "bytes") return std::to_string(get<unsigned long>(buffer));
        if (setting.type == "seconds") return std::to_string(get<double>(buffer));
        const auto* const text = static_cast<const char*>(buffer);
        return {text, strnlen(text, static_cast<std::size_t>(count))};
    }
};

// A handle's address is the tool's handle, which the library therefore never gives out as one of its own.
struct ControlHandles {
    std::mutex mutex;
    std::map<MPI_T_cvar_handle, std::unique_ptr<const ControlHandle>> all;

    // Null: the library's.  It lives until the tool frees it.
    const ControlHandle* find(MPI_T_cvar_handle handle) {
        const std::scoped_lock lock(mutex);
        const auto it = all.find(handle);
        return it == all.end() ? nullptr : it->second.get();
    }
};
ControlHandles& control_handles() {
    static ControlHandles& h = *new ControlHandles;
    return h;
}

}  // namespace

constinit Numbering control("MPI_T_cvar_get_num", [] { return static_cast<int>(settings().size()); });

}  // namespace fanlight::mpi_t

#pragma GCC visibility push(default)
extern "C" {

using namespace fanlight::mpi_t;
using fanlight::settings;

int MPI_T_cvar_get_num(int* number) { return control.get_num(number); }

int MPI_T_cvar_get_info(int index, char* name, int* name_length, int* verbosity, MPI_Datatype* datatype, MPI_T_enum* enumtype, char* description,
                        int* description_length, int* bind, int* scope) {
    FANLIGHT_NEXT(MPI_T_cvar_get_info);
    const int own = control.own(index);
    if (own < 0) return next.get()(index, name, name_length, verbosity, datatype, enumtype, description, description_length, bind, scope);
    const fanlight::Setting& s = settings()[static_cast<std::size_t>(own)];
    give(s.variable, name, name_length);
    give(s.help, description, description_length);
    give<int>(MPI_T_VERBOSITY_USER_BASIC, verbosity);
    give(datatype_of(s), datatype);
    give(MPI_T_ENUM_NULL, enumtype);
    give<int>(MPI_T_BIND_NO_OBJECT, bind);
    give<int>(is_constant(s) ? MPI_T_SCOPE_CONSTANT : s.same ? MPI_T_SCOPE_ALL_EQ : MPI_T_SCOPE_LOCAL, scope);
    return MPI_SUCCESS;
}

int MPI_T_cvar_get_index(const char* name, int* index) {
    FANLIGHT_NEXT(MPI_T_cvar_get_index);
    return control.get_index(name, index, [&](std::size_t i) { return settings()[i].variable == name; }, [&] { return next.get()(name, index); });
}

int MPI_T_cvar_handle_alloc(int index, void* object, MPI_T_cvar_handle* handle, int* count) try {
    FANLIGHT_NEXT(MPI_T_cvar_handle_alloc);
    const int own = control.own(index);
    if (own < 0) return next.get()(index, object, handle, count);
    if (!handle) return MPI_T_ERR_INVALID;
    const fanlight::Setting& s = settings()[static_cast<std::size_t>(own)];
    const int size = s.type == "text" ? std::max(room, static_cast<int>(s.value(fanlight::present_config()).size()) + 1) : 1;
    auto made = std::make_unique<const ControlHandle>(ControlHandle{s, size});
    const auto address = reinterpret_cast<MPI_T_cvar_handle>(const_cast<ControlHandle*>(made.get()));
    const std::scoped_lock lock(control_handles().mutex);
    control_handles().all.emplace(address, std::move(made));
    *handle = address;
    give(size, count);
    return MPI_SUCCESS;
} catch (const std::exception&) {
    return MPI_T_ERR_MEMORY;
}

int MPI_T_cvar_handle_free(MPI_T_cvar_handle* handle) {
    FANLIGHT_NEXT(MPI_T_cvar_handle_free);
    if (!handle || !control_handles().find(*handle)) return next.get()(handle);
    const std::scoped_lock lock(control_handles().mutex);
    control_handles().all.erase(*handle);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int MPI_T_cvar_read(MPI_T_cvar_handle handle, void* buffer) try {
    FANLIGHT_NEXT(MPI_T_cvar_read);
    const ControlHandle* const own = control_handles().find(handle);
    if (!own) return next.get()(handle, buffer);
    own->read(buffer);
    return MPI_SUCCESS;
} catch (const std::exception&) {
    return MPI_T_ERR_MEMORY;
}

int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void* buffer) try {
    FANLIGHT_NEXT(MPI_T_cvar_write);
    const ControlHandle* const own = control_handles().find(handle);
    if (!own) return next.get()(handle, buffer);
    if (is_constant(own->setting)) return MPI_T_ERR_CVAR_SET_NEVER;
    return fanlight::set(own->setting, own->text_in(buffer)) ? MPI_SUCCESS : MPI_T_ERR_CVAR_SET_NEVER;
} catch (const std::exception& e) {
    fanlight::say(std::string("MPI_T_cvar_write: ") + e.what());
    return MPI_T_ERR_INVALID;
}

}  // extern "C"
#pragma GCC visibility pop
