// What a thread is freeing: the MPI library calls the program's delete functions meanwhile, which may still use it.  Nothing
// may be kept of it then, since the next object may have the same handle.
#pragma once

namespace fanlight {

template <class Handle>
class Dying {
public:
    explicit Dying(Handle handle) : handle_(handle), outer_(innermost) { innermost = this; }
    ~Dying() { innermost = outer_; }
    Dying(const Dying&) = delete;
    Dying& operator=(const Dying&) = delete;

    static bool is(Handle handle) {
        for (const Dying* one = innermost; one; one = one->outer_)
            if (one->handle_ == handle) return true;
        return false;
    }

private:
    Handle handle_;
    const Dying* outer_;
    static inline constinit thread_local const Dying* innermost = nullptr;
};

}  // namespace fanlight
