// Provides stack for llama-common, which recurses for each open bracket of JSON, in arguments of calls and in answers.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace corral::engine_server {

// Largest nesting depth of JSON brackets. Includes those in strings, since it is not known which part of a text is
// JSON.
std::size_t open_brackets(std::string_view text);

inline constexpr std::size_t kMaxLevels = 256 * 1024;
// Runs `work` with that much stack for each of `levels`: on this thread if any thread has as much, otherwise on a new
// one. Throws what `work` throws, and std::runtime_error for more than kMaxLevels or if there is no address space for
// the stack.
void with_stack_for(std::size_t levels, std::size_t bytes_per_level, const std::function<void()>& work);

}  // namespace corral::engine_server
