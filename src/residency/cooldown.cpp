#include "residency/cooldown.h"

#include <algorithm>
#include <utility>

namespace corral::residency {

void note_failure(std::optional<Failure>& failure, const Settings& settings, std::uint64_t options, std::string cause,
                  MonoTime now) {
  const int before = failure && failure->options == options ? failure->in_a_row : 0;
  failure = Failure{.in_a_row = before + 1, .cool_until = now, .options = options, .cause = std::move(cause)};
  if (failure->in_a_row < settings.cooldown_after) return;
  Millis wait = settings.cooldown_first;
  for (int i = settings.cooldown_after; i < failure->in_a_row && wait < settings.cooldown_most; ++i) wait *= 2;
  failure->cool_until = now + std::min(wait, settings.cooldown_most);
}

Millis cooling_left(const std::optional<Failure>& failure, std::uint64_t options, MonoTime now) {
  if (!failure || failure->options != options || now >= failure->cool_until) return Millis{0};
  return std::chrono::ceil<Millis>(failure->cool_until - now);
}

}  // namespace corral::residency
