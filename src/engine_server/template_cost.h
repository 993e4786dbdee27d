// How many tool calls a chat template can be given. Most take time that grows with their number; some look through the
// whole conversation for each call, and 256 calls take them 16 seconds. A template can't be stopped, so what it will
// take is known from small conversations before. Pure, but for the clock.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>

namespace corral::engine_server {

inline constexpr std::size_t kAnyCalls = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t kProbedCalls = 64;   // so many nobody needs to ask about
inline constexpr std::size_t kMaxProbed = 4'096;  // as many as a conversation has messages

// The most calls that stay within `budget` seconds, from what conversations of 32, 64, 128, ... calls take: until one
// takes long enough to tell how it grows. kAnyCalls: none does.
std::size_t max_calls(const std::function<double(std::size_t)>& seconds_for, double budget);
// Processor seconds of this thread.
double seconds_of(const std::function<void()>& work);

}  // namespace corral::engine_server
