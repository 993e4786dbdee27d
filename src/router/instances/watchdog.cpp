#include "router/instances/watchdog.h"

#include <algorithm>

namespace corral::router {
namespace {

// One call until the first query, and three responses that don't arrive.
constexpr std::int64_t kLooks = 4;
constexpr std::int64_t kMissedAnswers = kLooks - 1;

}  // namespace

Watchdog::Watchdog(Millis timeout) : timeout_(timeout), pace_(std::max(timeout / kLooks, Millis(1))) {}

Watchdog::Verdict Watchdog::look(const Seen& seen) {
  if (seen.loading) {
    const bool worked = work_ && *work_ != seen.work;
    work_ = seen.work;
    silent_ = worked ? 0 : silent_ + 1;
    return silent_ >= kLooks ? Verdict::hung : Verdict::fine;
  }
  if (!seen.busy) silent_ = 0;
  if (!seen.busy) return Verdict::fine;
  return silent_ >= kMissedAnswers ? Verdict::hung : Verdict::ask;
}

}  // namespace corral::router
