#include "engine/schedule/adapter_turns.h"

#include <algorithm>

namespace corral::engine {
namespace {

bool wants(std::span<const AdapterScales* const> wanted, const AdapterScales& one) {
  return std::ranges::any_of(wanted, [&](const AdapterScales* other) { return *other == one; });
}

}  // namespace

const AdapterScales& AdapterTurns::next(std::span<const AdapterScales* const> wanted) const {
  if (!queue_.empty() && in_a_row_ < kInARow && wants(wanted, queue_.back())) return queue_.back();
  for (const AdapterScales& one : queue_) {
    if (wants(wanted, one)) return one;
  }
  return *wanted.front();
}

void AdapterTurns::took(const AdapterScales& one, std::span<const AdapterScales* const> wanted) {
  if (queue_.empty() && std::ranges::all_of(wanted, [&](const AdapterScales* other) { return *other == one; })) return;
  const AdapterScales its = one;
  in_a_row_ = !queue_.empty() && queue_.back() == its ? in_a_row_ + 1 : 1;
  std::erase_if(queue_, [&](const AdapterScales& known) { return known == its || !wants(wanted, known); });
  for (const AdapterScales* other : wanted) {
    if (*other != its && std::ranges::find(queue_, *other) == queue_.end()) queue_.push_back(*other);
  }
  if (!queue_.empty()) queue_.push_back(its);
}

}  // namespace corral::engine
