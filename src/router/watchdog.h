// When a process counts as hung: pure, one object for each process, fed with looks at a steady pace.
//
// Silence is counted in looks, not read from a clock: a machine that slept, or a whole server that was stopped for a
// while, has missed one look, not hundreds.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/named.h"

namespace corral::router {

class Watchdog {
 public:
  enum class Verdict {
    fine,
    ask,   // it works on requests and should answer: ask it, and say answered() or missed()
    hung,  // too many looks without a sign of life
  };

  // How long a process may be silent. While it loads `size` bytes, a slow disk may add to that.
  Watchdog(Millis timeout, Bytes size);

  Millis timeout() const { return timeout_; }
  // Time between two looks, and what an answer may take.
  Millis pace() const { return pace_; }
  // Signs of life: progress of the load, its end, an answer.
  void alive() { silent_ = 0; }
  void missed() { ++silent_; }
  Verdict look(bool loading, bool busy);

 private:
  Millis timeout_;
  Millis pace_;
  std::int64_t looks_to_load_;
  std::int64_t silent_ = 0;  // looks in a row
};

}  // namespace corral::router
