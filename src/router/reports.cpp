#include "router/reports.h"

#include <utility>

#include "residency/instance_state.h"
#include "router/options/eviction.h"

namespace corral::router {

http::Target& Resident::target(async::Executor executor) const { return running->server->target(executor); }

Report report_of(const CoreDriver& driver, const ProcessManager& processes) {
  const auto moment = driver.now();
  Report report{driver.core().snapshot(moment), {}, {}, std::nullopt, moment.wall};
  for (const auto& view : report.snapshot.instances) {
    const auto& spec = LoadSpec::of(view.spec);
    auto options = backends::merge(options_of(view.eviction), spec.load_options);
    InstanceReport entry{view, {}, spec.model, std::move(options), false, spec.device};
    if (const auto running = processes.find(view.id)) {
      entry.facts = running->server->facts();
      entry.streaming = running->streams > 0;
      if (entry.facts.device != Device::none) entry.device = entry.facts.device;
    }
    if (spec.share_of) {
      report.shares.push_back({std::move(entry), *spec.share_of});
    } else {
      report.instances.push_back(std::move(entry));
    }
  }
  if (report.snapshot.loading && report.snapshot.loading->spec->share) report.snapshot.loading.reset();
  if (report.snapshot.loading) {
    if (const auto running = processes.find(report.snapshot.loading->id)) report.load_progress = running->progress;
  }
  return report;
}

std::vector<Resident> residents_of(const CoreDriver& driver, const ProcessManager& processes) {
  std::vector<Resident> all;
  for (const auto& [id, instance] : driver.core().state().instances) {
    auto running = processes.find(id);
    if (running && residency::is_resident(instance->state) && !instance->spec->share)
      all.push_back({instance->spec->name, std::move(running)});
  }
  return all;
}

}  // namespace corral::router
