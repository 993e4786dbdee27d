#include "engine/schedule/draft_length.h"

#include <algorithm>
#include <vector>

namespace corral::engine {
namespace {

// Tokens per time of a pass, and the best so far.
class Speed {
 public:
  Speed(std::uint32_t sessions, const PassCosts& costs) : costs_(costs), sessions_(sessions), tokens_(sessions) {
    best_ = tokens_ / costs_.of(sessions_);
  }
  void add(double tokens) { tokens_ += tokens; }
  // With so many rows of draft tokens it is faster than with any number before.
  bool improves(std::uint32_t rows) {
    const double speed = tokens_ / costs_.of(sessions_ + rows);
    if (speed <= best_) return false;
    best_ = speed;
    return true;
  }

 private:
  const PassCosts& costs_;
  const std::uint32_t sessions_;
  double tokens_;
  double best_;
};

struct Next {
  double right = 1;         // of all chosen draft tokens being accepted
  std::uint32_t taken = 0;  // of the session's draft tokens
};

double gain_of(const DraftList& list, const Next& next) {
  const bool more = next.taken < std::min<std::size_t>(list.drafts.size(), list.max);
  return more ? next.right * list.drafts[next.taken].probability : 0;
}

void take(const DraftList& list, Next& next) { next.right *= list.drafts[next.taken++].probability; }

// Adds the most likely next draft token of any session, one at a time.
void choose_best(std::span<DraftList> lists, std::uint32_t max, Speed speed) {
  std::vector<Next> next(lists.size());
  for (std::uint32_t rows = 1; rows <= max; ++rows) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < lists.size(); ++i)
      if (gain_of(lists[i], next[i]) > gain_of(lists[best], next[best])) best = i;
    const double gain = gain_of(lists[best], next[best]);
    if (gain <= 0) return;
    take(lists[best], next[best]);
    speed.add(gain);
    if (!speed.improves(rows)) continue;
    for (std::size_t i = 0; i < lists.size(); ++i) lists[i].rows = next[i].taken;
  }
}

// Adds one row of each session at a time.
void choose_equal(std::span<DraftList> lists, std::uint32_t max, Speed speed) {
  const auto count = static_cast<std::uint32_t>(lists.size());
  const std::uint32_t room = std::ranges::min_element(lists, {}, &DraftList::max)->max;
  std::vector<Next> next(lists.size());
  for (std::uint32_t each = 1; each <= std::min(room, max / count); ++each) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const double gain = gain_of(lists[i], next[i]);
      if (gain <= 0) continue;
      take(lists[i], next[i]);
      speed.add(gain);
    }
    if (!speed.improves(each * count)) continue;
    for (DraftList& list : lists) list.rows = each;
  }
}

}  // namespace

void choose_drafts(std::span<DraftList> lists, const PassCosts& costs, const DraftLimits& limits) {
  for (DraftList& list : lists) list.rows = 0;
  if (lists.empty()) return;
  const Speed without(static_cast<std::uint32_t>(lists.size()), costs);
  if (limits.equal && lists.size() > 1)
    choose_equal(lists, limits.max, without);
  else
    choose_best(lists, limits.max, without);
}

}  // namespace corral::engine
