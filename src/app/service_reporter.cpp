#include "app/service_reporter.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "residency/instance_state.h"

namespace corral::app {
namespace {

constexpr Millis kReportInterval{2'000};

void append(std::string& text, std::string_view more) { text += (text.empty() ? "" : "; ") + std::string(more); }

async::Task<void> nothing() { co_return; }

}  // namespace

std::string service_status(const router::Report& report) {
  std::string models, text;
  for (const auto& instance : report.instances) {
    if (!residency::is_resident(instance.view.state)) continue;
    models += (models.empty() ? "" : ", ") + instance.view.spec->name.value();
  }
  append(text, models.empty() ? "no model in memory" : "in memory: " + models);
  if (const auto& loading = report.snapshot.loading) {
    append(text,
           fmt::format("loading: {} ({:.0f} %)", loading->spec->name.value(), 100 * report.load_progress.value_or(0)));
  }
  if (const auto waiting = report.snapshot.queue.size(); waiting > 0)
    append(text, waiting == 1 ? "1 load waits" : fmt::format("{} loads wait", waiting));
  return text;
}

async::Task<void> ServiceReporter::run() {
  if (!notifier_.active()) co_return;
  const auto half = notifier_.watchdog() ? *notifier_.watchdog() / 2 : kReportInterval;
  const auto pause = std::min(kReportInterval, half);
  MonoTime last_alive = MonoTime::min();
  std::string shown;
  while (true) {
    auto visit = parts_.visit_loops();
    co_await std::move(visit);
    const auto now = timers_.now();
    // The next look would be too late.
    if (notifier_.watchdog() && (last_alive == MonoTime::min() || now + pause - last_alive > half)) {
      notifier_.alive();
      last_alive = now;
    }
    if (loaded_ && !ready_) ready_ = notifier_.ready();
    if (!ready_) notifier_.extend_timeout(kMoreTime);
    auto asking = parts_.report();
    auto status = service_status(co_await std::move(asking));
    if (status != shown) notifier_.status(status);
    shown = std::move(status);
    co_await timers_.sleep_for(pause);
  }
}

void ServiceReporter::started() {
  loaded_ = true;
  ready_ = notifier_.ready();
}

async::Task<void> visit_all(async::LoopPool& loops) {
  for (std::size_t i = 0; i < loops.size(); ++i) co_await async::run_on(loops.at(i).executor(), nothing());
}

}  // namespace corral::app
