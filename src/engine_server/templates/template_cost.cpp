#include "engine_server/templates/template_cost.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

namespace corral::engine_server {
namespace {

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

std::size_t max_calls(const std::function<double(std::size_t)>& seconds_for, double budget) {
  std::size_t calls = kProbedCalls;
  double before = seconds_for(calls / 2), now = seconds_for(calls);
  // Shorter times may be other work, which hides the growth. A step takes at most 16 times the last one.
  constexpr double kEnough = 0.1;
  while (now < kEnough && calls < kMaxProbed) {
    calls *= 2;
    before = std::exchange(now, seconds_for(calls));
  }
  if (now < kEnough) return kAnyCalls;
  const double power = std::clamp(std::log2(now / std::max(before, 1e-6)), 1.0, 4.0);
  const double max = static_cast<double>(calls) * std::pow(budget / now, 1 / power);
  return std::max(kProbedCalls, static_cast<std::size_t>(max));
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = thread_seconds();
  work();
  return thread_seconds() - begin;
}

}  // namespace corral::engine_server
