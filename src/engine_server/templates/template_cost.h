// Limits the tool calls for a chat template. Most templates take time in proportion to the calls; some scan the whole
// conversation for each call, and 256 calls take them 16 seconds. A template can't be stopped, so small conversations
// predict its time. Pure, except for the clock.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>

namespace corral::engine_server {

inline constexpr std::size_t kAnyCalls = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t kProbedCalls = 64;   // so many calls are always allowed
inline constexpr std::size_t kMaxProbed = 4'096;  // most messages of a conversation

// The most calls within `budget` seconds, extrapolated from conversations of 32, 64, 128, ... calls, until one takes
// long enough to measure the growth. kAnyCalls: none does.
std::size_t max_calls(const std::function<double(std::size_t)>& seconds_for, double budget);
// Processor seconds of this thread.
double seconds_of(const std::function<void()>& work);

}  // namespace corral::engine_server
