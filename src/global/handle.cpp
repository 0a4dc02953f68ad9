#include "global/handle.h"

#include <deque>
#include <mutex>
#include <vector>

#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

namespace {

struct Entry {
    std::uint32_t generation = 1;
    bool used = false;
    MPI_Request request = MPI_REQUEST_NULL;
    std::int32_t segment = -1;
    int unit = -1;
};

// Entries keep their places: one thread waits while another begins.
struct Handles {
    std::mutex mutex;
    std::deque<Entry> entries;
    std::vector<std::uint32_t> unused;
};
Handles& handles() {
    static Handles& h = *new Handles;
    return h;
}

Entry* find(fanlight_handle handle) {
    if (handle == FANLIGHT_HANDLE_NULL) return nullptr;
    const std::uint32_t index = static_cast<std::uint32_t>(handle) - 1;
    Handles& h = handles();
    const std::scoped_lock lock(h.mutex);
    if (index >= h.entries.size()) return nullptr;
    Entry& e = h.entries[index];
    return e.used && e.generation == handle >> 32 ? &e : nullptr;
}

void forget(fanlight_handle& handle, Entry& e) {
    Handles& h = handles();
    const std::scoped_lock lock(h.mutex);
    e.used = false;
    ++e.generation;
    h.unused.push_back(static_cast<std::uint32_t>(handle) - 1);
    handle = FANLIGHT_HANDLE_NULL;
}

fanlight_code check(const fanlight_handle* list, std::size_t count) {
    if (!is_up()) return not_up();
    if (!list && count > 0) return fail(FANLIGHT_ERR_ARGUMENT, "no handles");
    for (std::size_t i = 0; i < count; ++i)
        if (list[i] != FANLIGHT_HANDLE_NULL && !find(list[i]))
            return fail(FANLIGHT_ERR_HANDLE, "handle %zu of %zu is finished, or never existed", i + 1, count);
    return FANLIGHT_OK;
}

// The operation is complete here; for the other end its segment is flushed.
fanlight_code finish(fanlight_handle& handle, bool remotely) {
    Entry* const e = find(handle);
    if (!e) {  // null, or named twice in one list
        handle = FANLIGHT_HANDLE_NULL;
        return FANLIGHT_OK;
    }
    fanlight_code error = FANLIGHT_OK;
    if (remotely && e->segment >= 0)
        if (Segment* s = segments.find(e->segment))  // freeing it has completed it
            error = mpi_code(MPI_Win_flush(e->unit, s->window), "MPI_Win_flush");
    forget(handle, *e);
    return error;
}

fanlight_code wait(fanlight_handle* list, std::size_t count, bool remotely) {
    fanlight_code error = check(list, count);
    for (std::size_t i = 0; i < count && error == FANLIGHT_OK; ++i) {
        Entry* const e = find(list[i]);
        if (e && e->request != MPI_REQUEST_NULL) error = mpi_code(MPI_Wait(&e->request, MPI_STATUS_IGNORE), "MPI_Wait");
        if (const fanlight_code finished = finish(list[i], remotely)) error = finished;
    }
    return error;
}

fanlight_code test(fanlight_handle* list, std::size_t count, int* done, bool remotely) {
    if (!done) return fail(FANLIGHT_ERR_ARGUMENT, "a null pointer for the result");
    fanlight_code error = check(list, count);
    *done = error == FANLIGHT_OK;
    for (std::size_t i = 0; i < count && *done; ++i) {
        Entry* const e = find(list[i]);
        if (!e || e->request == MPI_REQUEST_NULL) continue;
        if ((error = mpi_code(MPI_Test(&e->request, done, MPI_STATUS_IGNORE), "MPI_Test"))) return error;
    }
    for (std::size_t i = 0; i < count && *done && error == FANLIGHT_OK; ++i) error = finish(list[i], remotely);
    return error;
}

}  // namespace

fanlight_handle new_handle(MPI_Request request, std::int32_t segment, int unit) {
    Handles& h = handles();
    const std::scoped_lock lock(h.mutex);
    if (h.unused.empty()) {
        h.unused.push_back(static_cast<std::uint32_t>(h.entries.size()));
        h.entries.emplace_back();
    }
    const std::uint32_t index = h.unused.back();
    h.unused.pop_back();
    Entry& e = h.entries[index];
    e.used = true;
    e.request = request;
    e.segment = segment;
    e.unit = unit;
    return (fanlight_handle{e.generation} << 32) | (index + 1);
}

void free_handles() {
    Handles& h = handles();
    const std::scoped_lock lock(h.mutex);
    for (std::uint32_t i = 0; i < h.entries.size(); ++i) {
        Entry& e = h.entries[i];
        if (!e.used) continue;
        if (e.request != MPI_REQUEST_NULL) MPI_Wait(&e.request, MPI_STATUS_IGNORE);
        e.used = false;
        ++e.generation;
        h.unused.push_back(i);
    }
}

}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_wait(fanlight_handle* h) { return wait(h, 1, true); }
fanlight_code fanlight_wait_local(fanlight_handle* h) { return wait(h, 1, false); }
fanlight_code fanlight_waitall(fanlight_handle* h, size_t n) { return wait(h, n, true); }
fanlight_code fanlight_waitall_local(fanlight_handle* h, size_t n) { return wait(h, n, false); }
fanlight_code fanlight_test(fanlight_handle* h, int* done) { return test(h, 1, done, true); }
fanlight_code fanlight_test_local(fanlight_handle* h, int* done) { return test(h, 1, done, false); }
fanlight_code fanlight_testall(fanlight_handle* h, size_t n, int* done) { return test(h, n, done, true); }
fanlight_code fanlight_testall_local(fanlight_handle* h, size_t n, int* done) { return test(h, n, done, false); }

fanlight_code fanlight_handle_free(fanlight_handle* handle) {
    if (const fanlight_code error = check(handle, 1)) return error;
    if (Entry* const e = find(*handle)) {
        // MPI forbids to free a request of a one-sided operation.
        if (e->request != MPI_REQUEST_NULL) MPI_Wait(&e->request, MPI_STATUS_IGNORE);
        forget(*handle, *e);
    }
    return FANLIGHT_OK;
}
