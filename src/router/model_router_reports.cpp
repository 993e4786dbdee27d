// ModelRouter's reports and event updates.
#include "residency/instance_state.h"
#include "router/model_router.h"
#include "router/options/eviction.h"

namespace corral::router {

http::Target& Resident::target(async::Executor executor) const { return running->server->target(executor); }

Report ModelRouter::report_now() const {
  const auto moment = driver_.now();
  Report report{driver_.core().snapshot(moment), {}, {}, std::nullopt, moment.wall};
  for (const auto& view : report.snapshot.instances) {
    const auto& spec = LoadSpec::of(view.spec);
    auto options = backends::merge(options_of(view.eviction), spec.load_options);
    InstanceReport entry{view, {}, spec.model, std::move(options), false, spec.device};
    if (const auto running = processes_.find(view.id)) {
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
    if (const auto running = processes_.find(report.snapshot.loading->id)) report.load_progress = running->progress;
  }
  return report;
}

std::vector<Resident> ModelRouter::residents_now() const {
  std::vector<Resident> all;
  for (const auto& [id, instance] : driver_.core().state().instances) {
    auto running = processes_.find(id);
    if (running && residency::is_resident(instance->state) && !instance->spec->share)
      all.push_back({instance->spec->name, std::move(running)});
  }
  return all;
}

RouterSnapshot ModelRouter::look() const {
  const auto* loading = processes_.loading();
  return take_picture(driver_.core(), driver_.now(), loading == nullptr ? 0 : loading->progress);
}

EventReader::EventReader(ModelRouter& router) : router_(router), listening_(router.hub_.listen()) {}

async::Task<Update> ModelRouter::next_update(std::optional<std::uint64_t> seen, Millis patience) {
  Update update;
  if (seen) {
    auto batch = co_await hub_.after(*seen, patience);
    update.events = std::move(batch.events);
    update.number = update.events.empty() ? *seen : update.events.back()->number;
    update.ended = batch.closed;
    if (!batch.lost) co_return update;
  }
  update.number = hub_.begin();
  update.whole = report_now();
  update.others = hub_.states();
  co_return update;
}

}  // namespace corral::router
