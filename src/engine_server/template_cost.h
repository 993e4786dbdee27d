// How many tool calls a chat template can be given. Most take time that grows with their number; some look through the
// whole conversation for each call, and 256 calls take them 16 seconds. A template can't be stopped, so what it will
// take is known from two small conversations before. Pure, but for the clock.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>

namespace corral::engine_server {

inline constexpr std::size_t kAnyCalls = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t kProbedCalls = 64;  // so many nobody needs to ask about

// Processor seconds for kProbedCalls / 2 calls and for kProbedCalls -> the most that stay within `budget` seconds.
std::size_t most_calls(double half, double whole, double budget);
// Processor seconds of this thread.
double seconds_of(const std::function<void()>& work);

}  // namespace corral::engine_server
