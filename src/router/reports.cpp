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

namespace {

// As predicted; else as the process measures; nothing while that is unknown.
std::vector<MemoryParts> parts_of(const InstanceReport& instance, const MemorySampler* sampler) {
  const bool downsized = instance.view.state == residency::InstanceState::downsized;
  const auto& predicted = instance.facts.predicted;
  if (predicted && sampler != nullptr) return sampler->parts_of(*predicted, downsized);
  if (const auto& use = instance.view.spec->memory; !use.empty()) return memory_parts(use, downsized);
  if (instance.facts.memory_bytes == 0) return {};
  return {{.pool = std::string(kHostPool), .process = instance.facts.memory_bytes}};
}

}  // namespace

MemoryReport memory_report_of(const CoreDriver& driver, const ProcessManager& processes, const MemorySampler* sampler,
                              const device::MemoryPools& pools) {
  const auto& core = driver.core();
  MemoryReport all{.report = report_of(driver, processes),
                   .outlook = core.outlook(driver.now()),
                   .threshold = core.state().settings.auto_evict_threshold_pct,
                   .pools = {},
                   .users = {}};
  const auto add = [&](residency::InstanceId id, std::vector<MemoryParts> parts) {
    if (!parts.empty()) all.users.push_back({id, std::move(parts)});
  };
  for (const auto& instance : all.report.instances) add(instance.view.id, parts_of(instance, sampler));
  for (const auto& share : all.report.shares) add(share.instance.view.id, parts_of(share.instance, sampler));
  if (const auto& loading = all.report.snapshot.loading) add(loading->id, memory_parts(loading->spec->memory, false));
  std::vector<MemoryParts> used;
  for (const auto& user : all.users) used.insert(used.end(), user.parts.begin(), user.parts.end());
  for (const auto& pool : pools) all.pools.push_back(pool_report(pool, used));
  return all;
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
