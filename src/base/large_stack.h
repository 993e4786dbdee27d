// Runs work on a stack of a chosen size. Third-party code may recurse once for each byte of a client's text
// (std::regex) or for each bracket (JSON). On the stack of an ordinary thread, such a text ends the process.
//
// The stack is address space: only pages that the work touches take memory, and all of them are freed after it. A guard
// page protects what lies below.
#pragma once

#include <cstddef>
#include <functional>

namespace corral {

// Stack that work may use on every thread.
inline constexpr std::size_t kOrdinaryStack = 1 << 20;

// Runs `work` on its own thread with at least `bytes` of stack, and waits for its end. Throws exceptions of `work`.
// False: there is no address space or thread for that, and `work` didn't run. Takes about 50 µs; on any thread.
[[nodiscard]] bool run_with_stack(std::size_t bytes, const std::function<void()>& work);

}  // namespace corral
