// For tests: allocations that fail, on the thread that asks for it. The program's operator new is replaced by what
// stands here, also for the libraries that it uses: include it in one file of a program. ThreadSanitizer has operators
// of its own in the program, so there none fails.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

#include "engine/test_failing_allocations.h"

namespace corral::engine::test {

thread_local constinit FailingAllocations failing_allocations;

#if __has_feature(thread_sanitizer)
inline constexpr bool kAllocationsCanFail = false;
#else
inline constexpr bool kAllocationsCanFail = true;

inline void* allocate(std::size_t bytes) {
  FailingAllocations& failing = failing_allocations;
  if (failing.counts() && failing.fails()) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
#endif

}  // namespace corral::engine::test

#if !__has_feature(thread_sanitizer)
void* operator new(std::size_t bytes) { return corral::engine::test::allocate(bytes); }
void* operator new[](std::size_t bytes) { return corral::engine::test::allocate(bytes); }
// Or a sanitizer's own would be asked for these, and free() for what they gave.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes == 0 ? 1 : bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes == 0 ? 1 : bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif
