// MPI_T's performance variables: what the report counts, on this rank, while a tool has a started handle for it.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collective/reason.h"
#include "collective/report.h"
#include "preload/mpi_t.h"

namespace fanlight::mpi_t {

namespace {

enum class Quantity { calls, bytes, time };

struct Variable {
    std::string name, description;
    Quantity quantity;
    bool is_served;
    const char* operation = nullptr;  // null: all
    std::optional<Reason> reason = {};

    int var_class() const {
        return quantity == Quantity::calls ? MPI_T_PVAR_CLASS_COUNTER : quantity == Quantity::bytes ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_TIMER;
    }
    MPI_Datatype datatype() const { return quantity == Quantity::time ? MPI_DOUBLE : MPI_UNSIGNED_LONG_LONG; }
    // Calls, bytes or nanoseconds.
    std::uint64_t now() const {
        const report::Count count = report::counted(operation, is_served, reason ? &*reason : nullptr);
        return quantity == Quantity::calls ? count.calls : quantity == Quantity::bytes ? count.bytes : static_cast<std::uint64_t>(count.ns);
    }
};

std::vector<Variable> all_variables() {
    constexpr const char* names[] = {"calls", "bytes", "time"};
    constexpr const char* meanings[] = {"calls of ", "bytes of one rank in calls of ", "seconds in calls of "};
    std::vector<Variable> all;
    const auto add = [&](const char* operation) {
        for (const bool served : {true, false})
            for (const Quantity q : {Quantity::calls, Quantity::bytes, Quantity::time}) {
                const auto i = static_cast<std::size_t>(q);
                all.push_back({std::string("fanlight_") + (served ? "served_" : "passed_") + names[i] + (operation ? std::string("_") + operation : ""),
                               std::string(meanings[i]) + (operation ? operation : "collective operations") + " that " +
                                   (served ? "Fanlight served" : "Fanlight passed on to the MPI library"),
                               q, served, operation});
            }
    };
    add(nullptr);
#define REASON(name, text)      \
    if (Reason::name != Reason::none) \
        all.push_back({"fanlight_passed_calls_reason_" #name, std::string("calls that Fanlight passed on to the MPI library, because of: ") + text, \
                       Quantity::calls, false, nullptr, Reason::name});
#include "collective/reasons.def"
#undef REASON
    for (const char* const operation : collective_functions()) add(operation);
    return all;
}

const std::vector<Variable>& variables() {
    static const auto& all = *new std::vector<Variable>(all_variables());
    return all;
}

// What a tool has of a variable: it counts from its start on, and not while it is stopped.
class PerformanceHandle {
public:
    PerformanceHandle(const Variable& v, MPI_T_pvar_session s) : variable(v), session(s) {}

    const Variable& variable;
    const MPI_T_pvar_session session;
    std::uint64_t kept = 0, since = 0;
    bool runs = false;

    std::uint64_t value(std::uint64_t now) const { return kept + (runs ? now - since : 0); }
    void start_from(std::uint64_t value, std::uint64_t now) {
        kept = value;
        since = now;
    }
    void read(void* buffer, bool and_reset) {
        const std::uint64_t now = variable.now(), all = value(now);
        if (and_reset) start_from(0, now);
        if (variable.quantity == Quantity::time) put(buffer, static_cast<double>(all) * 1e-9);
        else put<unsigned long long>(buffer, all);
    }
    void write(const void* buffer) {
        start_from(variable.quantity == Quantity::time ? static_cast<std::uint64_t>(std::max(get<double>(buffer), 0.0) * 1e9)
                                                       : get<unsigned long long>(buffer),
                   variable.now());
    }
};

// A handle's address is the tool's handle, which the library therefore never gives out as one of its own.
struct PerformanceHandles {
    std::mutex mutex;
    std::map<MPI_T_pvar_handle, std::unique_ptr<PerformanceHandle>> all;
    int running = 0;

    void run(PerformanceHandle& h, bool wanted) {
        if (h.runs == wanted) return;
        // Counting begins before the first look.
        if (wanted && running++ == 0) report::count_for_tools(true);
        const std::uint64_t now = h.variable.now();
        h.start_from(h.value(now), now);
        h.runs = wanted;
        if (!wanted && --running == 0) report::count_for_tools(false);
    }
};
PerformanceHandles& performance_handles() {
    static PerformanceHandles& h = *new PerformanceHandles;
    return h;
}

// MPICH has a variable for it, the others a constant.
bool is_all_handles(MPI_T_pvar_handle handle) {
#if defined(MPI_T_PVAR_ALL_HANDLES)
    return handle == MPI_T_PVAR_ALL_HANDLES;
#else
    static const MPI_T_pvar_handle all = [] {
        void* const found = dlsym(RTLD_DEFAULT, "MPI_T_PVAR_ALL_HANDLES");
        void* const there = found ? found : find_in_mpi("MPI_T_PVAR_ALL_HANDLES");
        return there ? *static_cast<const MPI_T_pvar_handle*>(there) : nullptr;
    }();
    return handle && handle == all;
#endif
}

// Does it to the handle, or to all of Fanlight's in the session.  Returns what the program gets; nothing: call the library.
template <class Action>
std::optional<int> with(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Action&& action) {
    PerformanceHandles& h = performance_handles();
    const std::scoped_lock lock(h.mutex);
    if (h.all.empty()) return {};
    if (is_all_handles(handle)) {
        for (const auto& [key, one] : h.all)
            if (one->session == session) action(*one);
        return {};
    }
    const auto it = h.all.find(handle);
    if (it == h.all.end()) return {};
    if (it->second->session != session) return MPI_T_ERR_INVALID_HANDLE;
    action(*it->second);
    return MPI_SUCCESS;
}

}  // namespace

constinit Numbering performance("MPI_T_pvar_get_num", [] { return static_cast<int>(variables().size()); });

}  // namespace fanlight::mpi_t

#pragma GCC visibility push(default)
extern "C" {

using namespace fanlight::mpi_t;

int MPI_T_pvar_get_num(int* number) { return performance.get_num(number); }

int MPI_T_pvar_get_info(int index, char* name, int* name_length, int* verbosity, int* var_class, MPI_Datatype* datatype, MPI_T_enum* enumtype,
                        char* description, int* description_length, int* bind, int* readonly, int* continuous, int* atomic) {
    FANLIGHT_NEXT(MPI_T_pvar_get_info);
    const int own = performance.own(index);
    if (own < 0)
        return next.get()(index, name, name_length, verbosity, var_class, datatype, enumtype, description, description_length, bind, readonly, continuous, atomic);
    const Variable& v = variables()[static_cast<std::size_t>(own)];
    give(v.name, name, name_length);
    give(v.description, description, description_length);
    give<int>(v.operation || v.reason ? MPI_T_VERBOSITY_USER_DETAIL : MPI_T_VERBOSITY_USER_BASIC, verbosity);
    give(v.var_class(), var_class);
    give(v.datatype(), datatype);
    give(MPI_T_ENUM_NULL, enumtype);
    give<int>(MPI_T_BIND_NO_OBJECT, bind);
    give(0, readonly);
    give(0, continuous);
    give(1, atomic);
    return MPI_SUCCESS;
}

int MPI_T_pvar_get_index(const char* name, int var_class, int* index) {
    FANLIGHT_NEXT(MPI_T_pvar_get_index);
    return performance.get_index(name, index, [&](std::size_t i) { return variables()[i].name == name && variables()[i].var_class() == var_class; },
                                 [&] { return next.get()(name, var_class, index); });
}

int MPI_T_pvar_session_free(MPI_T_pvar_session* session) {
    FANLIGHT_NEXT(MPI_T_pvar_session_free);
    const MPI_T_pvar_session gone = session ? *session : MPI_T_PVAR_SESSION_NULL;
    const int error = next.get()(session);
    if (error != MPI_SUCCESS) return error;
    PerformanceHandles& h = performance_handles();
    const std::scoped_lock lock(h.mutex);
    std::erase_if(h.all, [&](const auto& one) {
        const bool goes = one.second->session == gone;
        if (goes) h.run(*one.second, false);
        return goes;
    });
    return error;
}

int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void* object, MPI_T_pvar_handle* handle, int* count) try {
    FANLIGHT_NEXT(MPI_T_pvar_handle_alloc);
    const int own = performance.own(index);
    if (own < 0) return next.get()(session, index, object, handle, count);
    if (session == MPI_T_PVAR_SESSION_NULL) return MPI_T_ERR_INVALID_SESSION;
    if (!handle) return MPI_T_ERR_INVALID;
    std::unique_ptr<PerformanceHandle> made(new PerformanceHandle(variables()[static_cast<std::size_t>(own)], session));
    const auto address = reinterpret_cast<MPI_T_pvar_handle>(made.get());
    const std::scoped_lock lock(performance_handles().mutex);
    performance_handles().all.emplace(address, std::move(made));
    *handle = address;
    give(1, count);
    return MPI_SUCCESS;
} catch (const std::exception&) {
    return MPI_T_ERR_MEMORY;
}

int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
    FANLIGHT_NEXT(MPI_T_pvar_handle_free);
    const auto done = handle && !is_all_handles(*handle) ? with(session, *handle, [&](PerformanceHandle& h) {
        performance_handles().run(h, false);
        performance_handles().all.erase(*handle);
    }) : std::nullopt;
    if (!done) return next.get()(session, handle);
    if (*done == MPI_SUCCESS) *handle = MPI_T_PVAR_HANDLE_NULL;
    return *done;
}

int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    FANLIGHT_NEXT(MPI_T_pvar_start);
    const auto done = with(session, handle, [](PerformanceHandle& h) { performance_handles().run(h, true); });
    return done ? *done : next.get()(session, handle);
}

int MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    FANLIGHT_NEXT(MPI_T_pvar_stop);
    const auto done = with(session, handle, [](PerformanceHandle& h) { performance_handles().run(h, false); });
    return done ? *done : next.get()(session, handle);
}

int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
    FANLIGHT_NEXT(MPI_T_pvar_read);
    const auto done = is_all_handles(handle) ? std::nullopt : with(session, handle, [&](PerformanceHandle& h) { h.read(buffer, false); });
    return done ? *done : next.get()(session, handle, buffer);
}

int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buffer) {
    FANLIGHT_NEXT(MPI_T_pvar_write);
    const auto done = is_all_handles(handle) ? std::nullopt : with(session, handle, [&](PerformanceHandle& h) { h.write(buffer); });
    return done ? *done : next.get()(session, handle, buffer);
}

int MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    FANLIGHT_NEXT(MPI_T_pvar_reset);
    const auto done = with(session, handle, [](PerformanceHandle& h) { h.start_from(0, h.variable.now()); });
    return done ? *done : next.get()(session, handle);
}

int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
    FANLIGHT_NEXT(MPI_T_pvar_readreset);
    const auto done = is_all_handles(handle) ? std::nullopt : with(session, handle, [&](PerformanceHandle& h) { h.read(buffer, true); });
    return done ? *done : next.get()(session, handle, buffer);
}

}  // extern "C"
#pragma GCC visibility pop
