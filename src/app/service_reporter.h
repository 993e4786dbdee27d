// Keeps the service manager informed while the server runs: which models are in memory, that all loops run, and that a
// start with loads of models needs more time. Without a manager it does nothing.
//
//   starting ── started() ──> running ── stopping() ──> stopping
//
// On the home loop.
#pragma once

#include <functional>
#include <string>

#include "async/loop.h"
#include "async/timer.h"
#include "base/service_notifier.h"
#include "router/reports.h"

namespace corral::app {

// "in memory: a, b; loading: c (40 %); 2 loads wait". Pure.
std::string service_status(const router::Report& report);

class ServiceReporter {
 public:
  // While the server starts, each report asks for this much more time.
  static constexpr Millis kMoreTime{30'000};

  struct Parts {
    std::function<async::Task<router::Report>()> report;
    // Returns when each loop that serves requests has done some work for it.
    std::function<async::Task<void>()> visit_loops;
  };

  // `notifier` and `timers` must outlive it.
  ServiceReporter(const ServiceNotifier& notifier, async::Timers& timers, Parts parts)
      : notifier_(notifier), timers_(timers), parts_(std::move(parts)) {}

  // Until it is cancelled. A loop that hangs stops the reports, and so the manager's watchdog ends the server.
  async::Task<void> run();
  // The models of the start are loaded, or can't be. The message is repeated until it was sent.
  void started();
  void stopping(Millis limit) { notifier_.stopping(limit); }

 private:
  const ServiceNotifier& notifier_;
  async::Timers& timers_;
  const Parts parts_;
  bool loaded_ = false;  // the models of the start
  bool ready_ = false;   // and the manager knows
};

// One visit of every loop, one after the other. `loops` must outlive it.
async::Task<void> visit_all(async::LoopPool& loops);

}  // namespace corral::app
