#include "global/transfer.h"

#include <atomic>
#include <climits>

#include "global/handle.h"
#include "global/runtime.h"

namespace fanlight::global {

namespace {

// Of `count` bytes, or one of a datatype that lives as long as this.
class MpiLayout {
public:
    explicit MpiLayout(const Layout& layout) {
        if (layout.is_contiguous() && layout.bytes() <= INT_MAX) {
            count = static_cast<int>(layout.bytes());
        } else {
            type = datatype_of(layout);
        }
    }
    ~MpiLayout() {
        if (type != MPI_BYTE) MPI_Type_free(&type);
    }
    MpiLayout(const MpiLayout&) = delete;

    int count = 1;
    MPI_Datatype type = MPI_BYTE;
};

fanlight_code by_rma(Direction direction, Completion completion, const Target& t, const Layout& remote, void* local,
                     const Layout& local_layout, fanlight_handle* handle) {
    const MpiLayout here(local_layout), there(remote);
    const auto at = static_cast<MPI_Aint>(t.offset);
    MPI_Win win = t.segment->window;
    const bool puts = direction == Direction::put;
    int code = MPI_SUCCESS;
    if (completion == Completion::handle) {
        MPI_Request request;
        code = puts ? MPI_Rput(local, here.count, here.type, t.unit, at, there.count, there.type, win, &request)
                    : MPI_Rget(local, here.count, here.type, t.unit, at, there.count, there.type, win, &request);
        if (code == MPI_SUCCESS) *handle = new_handle(request, puts ? t.segment->id : -1, t.unit);
        return mpi_code(code, puts ? "MPI_Rput" : "MPI_Rget");
    }
    code = puts ? MPI_Put(local, here.count, here.type, t.unit, at, there.count, there.type, win)
                : MPI_Get(local, here.count, here.type, t.unit, at, there.count, there.type, win);
    if (code == MPI_SUCCESS && completion == Completion::blocking)
        code = puts ? MPI_Win_flush(t.unit, win) : MPI_Win_flush_local(t.unit, win);
    return mpi_code(code, puts ? "MPI_Put" : "MPI_Get");
}

}  // namespace

fanlight_code transfer(Direction direction, Completion completion, fanlight_pointer pointer, const Layout& remote,
                       void* local, const Layout& local_layout, fanlight_handle* handle) {
    Target t;
    if (const fanlight_code error = resolve(pointer, remote.span(), t)) return error;
    const std::size_t bytes = remote.bytes();
    if (bytes != local_layout.bytes())
        return fail(FANLIGHT_ERR_ARGUMENT, "%zu bytes there and %zu here", bytes, local_layout.bytes());
    if (bytes > 0 && !local) return fail(FANLIGHT_ERR_ARGUMENT, "the local address is null");
    if (completion == Completion::handle && !handle)
        return fail(FANLIGHT_ERR_ARGUMENT, "a null pointer for the handle");
    if (!t.direct() && bytes > 0) return by_rma(direction, completion, t, remote, local, local_layout, handle);
    if (bytes > 0) {
        if (direction == Direction::put && remote.is_contiguous() && local_layout.is_contiguous()) {
            store(t, local, bytes);
        } else if (direction == Direction::put) {
            std::atomic_thread_fence(std::memory_order_release);
            copy(t.address(), remote, static_cast<const char*>(local), local_layout);
        } else {
            copy(static_cast<char*>(local), local_layout, t.address(), remote);
            std::atomic_thread_fence(std::memory_order_acquire);
            progress_now_and_then();
        }
    }
    if (completion == Completion::handle) *handle = FANLIGHT_HANDLE_NULL;
    return FANLIGHT_OK;
}

namespace {

fanlight_code contiguous(Direction direction, Completion completion, fanlight_pointer pointer, void* local,
                         std::size_t bytes, fanlight_handle* handle = nullptr) {
    const Layout layout = Layout::contiguous(bytes);
    return transfer(direction, completion, pointer, layout, local, layout, handle);
}

fanlight_code flush(fanlight_pointer pointer, int (*of_unit)(int, MPI_Win), int (*of_all)(MPI_Win)) {
    Target t;
    if (of_all && pointer.unit < 0) pointer.unit = 0;
    pointer.offset = 0;
    if (const fanlight_code error = resolve(pointer, 0, t)) return error;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    progress_now_and_then();
    // Atomic operations may have gone through it although puts do not.
    MPI_Win win = t.segment->window;
    if (win == MPI_WIN_NULL) return FANLIGHT_OK;
    return mpi_code(of_all ? of_all(win) : of_unit(t.unit, win), "MPI_Win_flush");
}

}  // namespace
}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_put(fanlight_pointer to, const void* from, size_t bytes) {
    Target t;
    if (const fanlight_code error = resolve(to, bytes, t)) [[unlikely]] return error;
    if (t.direct() && from) [[likely]] {
        store(t, from, bytes);
        return FANLIGHT_OK;
    }
    return contiguous(Direction::put, Completion::blocking, to, const_cast<void*>(from), bytes);
}

fanlight_code fanlight_get(void* to, fanlight_pointer from, size_t bytes) {
    Target t;
    if (const fanlight_code error = resolve(from, bytes, t)) [[unlikely]] return error;
    if (t.direct() && to) [[likely]] {
        load(to, t, bytes);
        return FANLIGHT_OK;
    }
    return contiguous(Direction::get, Completion::blocking, from, to, bytes);
}

fanlight_code fanlight_put_begin(fanlight_pointer to, const void* from, size_t bytes) {
    return contiguous(Direction::put, Completion::flushed_later, to, const_cast<void*>(from), bytes);
}
fanlight_code fanlight_get_begin(void* to, fanlight_pointer from, size_t bytes) {
    return contiguous(Direction::get, Completion::flushed_later, from, to, bytes);
}
fanlight_code fanlight_put_handle(fanlight_pointer to, const void* from, size_t bytes, fanlight_handle* handle) {
    return contiguous(Direction::put, Completion::handle, to, const_cast<void*>(from), bytes, handle);
}
fanlight_code fanlight_get_handle(void* to, fanlight_pointer from, size_t bytes, fanlight_handle* handle) {
    return contiguous(Direction::get, Completion::handle, from, to, bytes, handle);
}

namespace {
// The blocks that are written do not overlap; there are so many bytes.
fanlight_code check_blocks(size_t stride, size_t block, size_t count) {
    if (count > 1 && stride < block)
        return fail(FANLIGHT_ERR_ARGUMENT, "blocks of %zu bytes, %zu apart, overlap where they are written", block, stride);
    if (block > 0 && count > PTRDIFF_MAX / block)
        return fail(FANLIGHT_ERR_RANGE, "%zu blocks of %zu bytes are more than there can be", count, block);
    return FANLIGHT_OK;
}
}  // namespace

fanlight_code fanlight_put_strided(fanlight_pointer to, size_t to_stride, const void* from, size_t from_stride,
                                   size_t block, size_t count) {
    if (const fanlight_code error = check_blocks(to_stride, block, count)) return error;
    return transfer(Direction::put, Completion::blocking, to, Layout::strided(count, block, to_stride),
                    const_cast<void*>(from), Layout::strided(count, block, from_stride));
}
fanlight_code fanlight_get_strided(void* to, size_t to_stride, fanlight_pointer from, size_t from_stride,
                                   size_t block, size_t count) {
    if (const fanlight_code error = check_blocks(to_stride, block, count)) return error;
    return transfer(Direction::get, Completion::blocking, from, Layout::strided(count, block, from_stride), to,
                    Layout::strided(count, block, to_stride));
}

namespace {
fanlight_code indexed(Direction direction, fanlight_pointer pointer, void* local, size_t count,
                      const size_t* lengths, const size_t* offsets) {
    if (count > 0 && (!lengths || !offsets)) return fail(FANLIGHT_ERR_ARGUMENT, "no lengths or no offsets");
    const Layout remote{.count = count, .lengths = lengths, .offsets = offsets};
    return transfer(direction, Completion::blocking, pointer, remote, local, Layout::contiguous(remote.bytes()));
}
}  // namespace

fanlight_code fanlight_put_indexed(fanlight_pointer to, const void* from, size_t count, const size_t* lengths,
                                   const size_t* offsets) {
    return indexed(Direction::put, to, const_cast<void*>(from), count, lengths, offsets);
}
fanlight_code fanlight_get_indexed(void* to, fanlight_pointer from, size_t count, const size_t* lengths,
                                   const size_t* offsets) {
    return indexed(Direction::get, from, to, count, lengths, offsets);
}

fanlight_code fanlight_flush(fanlight_pointer p) { return flush(p, MPI_Win_flush, nullptr); }
fanlight_code fanlight_flush_all(fanlight_pointer p) { return flush(p, nullptr, MPI_Win_flush_all); }
fanlight_code fanlight_flush_local(fanlight_pointer p) { return flush(p, MPI_Win_flush_local, nullptr); }
fanlight_code fanlight_flush_local_all(fanlight_pointer p) { return flush(p, nullptr, MPI_Win_flush_local_all); }
