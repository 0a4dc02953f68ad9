#include "memory/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // since Linux 6.1
#endif

namespace fanlight {

void* reserve_addresses(std::size_t bytes) noexcept {
    constexpr std::size_t page = 4096;
    const std::size_t pages = (bytes + page - 1) / page * page;
    void* const room = ::mmap(nullptr, pages + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<std::byte*>(room);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(room) % huge_page;
    if (before > 0) ::munmap(begin, before);
    ::munmap(begin + before + pages, huge_page - before);
    return begin + before;
}

void ask_for_huge_pages(void* base, std::size_t bytes) noexcept { ::madvise(base, bytes / huge_page * huge_page, MADV_COLLAPSE); }

}  // namespace fanlight
