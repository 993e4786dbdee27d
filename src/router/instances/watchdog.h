// When a process counts as hung: pure, one object for each process, fed with looks at a steady pace.
//
// While a process loads, whatever it does is a sign of life: a large context, adapters or a draft model may take long
// without a word of progress. One that waits for ever does nothing; one that spins for ever ends with its load's
// deadline.
//
// Silence is counted in looks, not read from a clock: a machine that slept, or a whole server that was stopped for a
// while, has missed one look, not hundreds.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace corral::router {

class Watchdog {
 public:
  enum class Verdict {
    fine,
    ask,   // it works on requests and should answer: ask it, and say answered() or missed()
    hung,  // too many looks without a sign of life
  };

  struct Seen {
    bool loading = false;
    bool busy = false;       // has requests to answer
    std::uint64_t work = 0;  // of a process that loads, see backends::WrappedServer::work()
  };

  // How long a process may be silent.
  explicit Watchdog(Millis timeout);

  Millis timeout() const { return timeout_; }
  // Time between two looks, and what an answer may take.
  Millis pace() const { return pace_; }
  // Signs of life: progress of the load, its end, an answer.
  void alive() { silent_ = 0; }
  void missed() { ++silent_; }
  Verdict look(const Seen& seen);

 private:
  Millis timeout_;
  Millis pace_;
  std::int64_t silent_ = 0;            // looks in a row
  std::optional<std::uint64_t> work_;  // at the last look
};

}  // namespace corral::router
