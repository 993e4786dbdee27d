// The part of ModelRouter that knows how much memory there is: it measures for the core, shrinks what is idle, and says
// of each load what it will take.
#include <algorithm>

#include "base/log.h"
#include "router/model_router.h"

namespace corral::router {

void ModelRouter::on(const residency::SampleMemory&) {
  if (gauge_ == nullptr) {
    dispatch(residency::MemorySampled{});
  } else {
    tasks_.spawn("memory sample", sample_memory());
  }
}

async::Task<void> ModelRouter::sample_memory() {
  auto sample = co_await gauge_->sample();
  dispatch(std::move(sample));
}

void ModelRouter::on(const residency::WatchMemory& action) {
  if (gauge_ == nullptr) return;
  if (action.on) {
    gauge_->watch([this](residency::MemorySampled sample) { dispatch(std::move(sample)); });
  } else {
    gauge_->unwatch();
  }
}

void ModelRouter::on(const residency::Downsize& action) {
  const auto found = running_.find(action.server);
  if (found == running_.end()) return dispatch(residency::DownsizeFailed{action.server});
  tasks_.spawn("downsize", downsize(found->second));
}

async::Task<void> ModelRouter::downsize(std::shared_ptr<Running> running) {
  const bool done = co_await running->server->downsize();
  if (done) {
    log::info("router", "{} is downsized: its KV cells and compute memory are free", running->spec->name.value());
    dispatch(residency::Downsized{running->id});
  } else {
    dispatch(residency::DownsizeFailed{running->id});
  }
}

// Where memory might be short, what the load will take; else it doesn't matter, and nobody waits for the answer.
async::Task<residency::MemoryUse> ModelRouter::memory_of(const LoadSpec& spec) {
  if (gauge_ == nullptr) co_return residency::MemoryUse{};
  if (auto known = spec.backend->known_estimate(*spec.model, spec.load_options)) {
    co_return co_await gauge_->use_of(std::move(*known));
  }
  const auto sample = co_await gauge_->sample();
  const auto bound = spec.backend->rough_bound(*spec.model, spec.load_options);
  const auto may_be_short = [&](const residency::PoolSample& pool) {
    return pool.available <= bound && (has(spec.device, Device::gpu) || pool.pool.value() == kHostPool);
  };
  if (std::ranges::none_of(sample.pools, may_be_short) && !spec.eviction.auto_evict) co_return residency::MemoryUse{};
  auto asked = co_await spec.backend->estimate(spec.model, spec.load_options);
  if (asked) co_return co_await gauge_->use_of(std::move(*asked));
  log::warning("router", "what {} will take isn't known: {}", spec.name.value(), asked.error().message);
  co_return residency::MemoryUse{};
}

}  // namespace corral::router
