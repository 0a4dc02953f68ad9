#include "collective/call_counts.h"

#include <cstring>

namespace fanlight::report {

Books& books() {
    static Books& b = *new Books;
    return b;
}

namespace {

constinit thread_local Book* own = nullptr;

// The next thread goes on with it, so that there are no more books than threads at one time.
struct LeaveBehind {
    ~LeaveBehind() {
        const std::scoped_lock lock(books().mutex);
        books().nobodys.push_back(std::exchange(own, nullptr));
    }
};

[[gnu::noinline]] void take_own() {
    static thread_local LeaveBehind at_its_end;
    static_cast<void>(at_its_end);
    Books& b = books();
    const std::scoped_lock lock(b.mutex);
    if (b.nobodys.empty()) b.nobodys.push_back(&b.all.emplace_back());
    own = b.nobodys.back();
    b.nobodys.pop_back();
}

Book& book() {
    if (!own) [[unlikely]] take_own();
    return *own;
}

}  // namespace

void call(const char* operation, std::size_t bytes, const char* algorithm, const char* transport, Reason reason, std::int64_t begun) {
    Book& b = book();
    const std::int64_t ns = now_ns() - begun;
    if (on(calls | tools)) b[{operation, algorithm, transport, reason, class_of(bytes)}].add(bytes, ns);
    if (on(trace)) b.events.add({begun, ns, operation, algorithm, transport, bytes, reason, -1});
}

void waited(int peer, std::int64_t begun, std::int64_t ended) {
    Book& b = book();
    if (on(calls)) add(b.waits[peer], {1, 0, ended - begun});
    if (on(trace)) b.events.add({begun, ended - begun, nullptr, nullptr, nullptr, 0, Reason::none, peer});
}

Count counted(const char* operation, bool is_served, const Reason* reason) {
    Count sum;
    const std::scoped_lock lock(books().mutex);
    for (Book& book : books().all) {
        const std::scoped_lock no_new_row(book.rows);
        for (const auto& [key, counter] : book.calls)
            if ((*key.algorithm != 0) == is_served && (!operation || std::strcmp(key.operation, operation) == 0) &&
                (!reason || key.reason == *reason))
                add(sum, counter.now());
    }
    return sum;
}

}  // namespace fanlight::report
