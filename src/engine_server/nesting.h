// Stack for llama-common, which recurses along the brackets of JSON: in arguments of calls and in answers.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace corral::engine_server {

// How many brackets of JSON are open at a time, at most. Those in strings count, too: what is
// JSON in other text isn't known.
std::size_t open_brackets(std::string_view text);

inline constexpr std::size_t kMaxLevels = 256 * 1024;
// Runs `work` with so much stack for each of `levels`: here if any thread has as much, else on a thread of its own.
// Throws what `work` throws, and std::runtime_error for more than kMaxLevels or if there is no address space for the
// stack.
void with_stack_for(std::size_t levels, std::size_t bytes_per_level, const std::function<void()>& work);

}  // namespace corral::engine_server
