// Decides when a process counts as hung. Pure; one object for each process, called at a steady interval.
//
// While a process loads, any work counts as a sign of life: a large context, adapters or a draft model may take long
// without progress. A process that waits permanently does no work. One that spins permanently ends at the deadline of
// its load.
//
// Silence is counted in calls, not measured by a clock: after a machine slept, or the whole server was stopped for a
// while, one call was missed, not hundreds.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace corral::router {

class Watchdog {
 public:
  enum class Verdict {
    fine,
    ask,   // it works on requests and should respond: query it, and call alive() or missed()
    hung,  // too many calls without a sign of life
  };

  struct Seen {
    bool loading = false;
    bool busy = false;       // has requests to answer
    std::uint64_t work = 0;  // of a loading process, see backends::WrappedServer::work()
  };

  // How long a process may be silent.
  explicit Watchdog(Millis timeout);

  Millis timeout() const { return timeout_; }
  // Interval of calls, and time limit of a response.
  Millis pace() const { return pace_; }
  // Signs of life: progress of the load, its end, a response.
  void alive() { silent_ = 0; }
  void missed() { ++silent_; }
  Verdict look(const Seen& seen);

 private:
  Millis timeout_;
  Millis pace_;
  std::int64_t silent_ = 0;            // calls in a row
  std::optional<std::uint64_t> work_;  // at the last call
};

}  // namespace corral::router
