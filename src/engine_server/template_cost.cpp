#include "engine_server/template_cost.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace corral::engine_server {
namespace {

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

std::size_t most_calls(double half, double whole, double budget) {
  // Below this the rest of the work hides how it grows; with the fourth power the most that rules take stay bearable.
  constexpr double kNothing = 0.05, kLinear = 3;
  if (whole < kNothing || whole < kLinear * half) return kAnyCalls;
  const double power = std::clamp(std::log2(whole / std::max(half, 1e-6)), 1.5, 4.0);
  const double most = static_cast<double>(kProbedCalls) * std::pow(budget / whole, 1 / power);
  return std::max(kProbedCalls, static_cast<std::size_t>(most));
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = thread_seconds();
  work();
  return thread_seconds() - begin;
}

}  // namespace corral::engine_server
