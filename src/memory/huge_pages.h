// Huge pages for shared memory, which the kernel gives on request.
#pragma once

#include <cstddef>

namespace fanlight {

constexpr std::size_t huge_page = std::size_t{2} << 20;
// What is long is mapped where huge pages may lie, and the kernel asked for them where the owner wants some: a stencil
// over ordinary ones runs at half to two thirds of its speed (apps/heat3d).
constexpr std::size_t long_enough = 4 * huge_page;

// Addresses alone, so many, which begin where a huge page does; null: there are none.
void* reserve_addresses(std::size_t bytes) noexcept;
// For memory that is mapped there, whether used or not; a "no" changes nothing.
void ask_for_huge_pages(void* base, std::size_t bytes) noexcept;

}  // namespace fanlight
