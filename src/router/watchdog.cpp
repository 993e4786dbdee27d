#include "router/watchdog.h"

#include <algorithm>

namespace corral::router {
namespace {

// One look until it is first asked, and three answers that don't come.
constexpr std::int64_t kLooks = 4;
constexpr std::int64_t kMissedAnswers = kLooks - 1;
// Progress is told in hundredths of the file: a few of them on a slow disk.
constexpr std::uint64_t kSlowDiskBytesPerMilli = 50'000;
constexpr std::uint64_t kPartOfLoad = 25;

}  // namespace

Watchdog::Watchdog(Millis timeout, Bytes size) : timeout_(timeout), pace_(std::max(timeout / kLooks, Millis(1))) {
  const auto part = Millis(size.value() / kSlowDiskBytesPerMilli / kPartOfLoad);
  looks_to_load_ = std::max(kLooks, (timeout + part) / pace_);
}

Watchdog::Verdict Watchdog::look(bool loading, bool busy) {
  if (loading) return ++silent_ >= looks_to_load_ ? Verdict::hung : Verdict::fine;
  if (!busy) silent_ = 0;
  if (!busy) return Verdict::fine;
  return silent_ >= kMissedAnswers ? Verdict::hung : Verdict::ask;
}

}  // namespace corral::router
