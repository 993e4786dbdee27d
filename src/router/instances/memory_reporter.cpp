#include "router/instances/memory_reporter.h"

#include <algorithm>

#include "base/log.h"

namespace corral::router {

void MemoryReporter::on(const residency::SampleMemory&) {
  if (sampler_ == nullptr) {
    driver_.dispatch(residency::MemorySampled{});
  } else {
    tasks_.spawn("memory sample", sample());
  }
}

async::Task<void> MemoryReporter::sample() {
  auto sample = co_await sampler_->sample();
  driver_.dispatch(std::move(sample));
}

void MemoryReporter::on(const residency::WatchMemory& action) {
  if (sampler_ == nullptr) return;
  if (action.on) {
    sampler_->watch([this](residency::MemorySampled sample) { driver_.dispatch(std::move(sample)); });
  } else {
    sampler_->unwatch();
  }
}

async::Task<void> MemoryReporter::look_at(LoadSpec& spec) {
  const Device machine = sampler_ == nullptr ? Device::cpu : co_await sampler_->devices();
  spec.device = spec.backend->device(*spec.model, spec.load_options, machine);
  spec.npu = options_.recipes().npu_use(spec.recipe, spec.device);
  spec.memory = co_await memory_of(spec);
}

// The need of a load if memory might be short; otherwise it doesn't matter, and the load shouldn't wait for the
// prediction.
async::Task<residency::MemoryUse> MemoryReporter::memory_of(const LoadSpec& spec) {
  if (sampler_ == nullptr) co_return residency::MemoryUse{};
  if (spec.backend->attached(*spec.model)) co_return residency::MemoryUse{};
  if (const auto given = spec.backend->given_memory(*spec.model, spec.load_options, spec.device)) {
    const auto seen = co_await sampler_->sample();
    co_return given_use(*given, has(spec.device, Device::gpu), seen);
  }
  if (auto known = spec.backend->known_estimate(*spec.model, spec.load_options))
    co_return co_await sampler_->use_of(std::move(*known));
  const auto sample = co_await sampler_->sample();
  const auto bound = spec.backend->rough_bound(*spec.model, spec.load_options);
  const auto may_be_short = [&](const residency::PoolSample& pool) {
    return pool.available <= bound && (has(spec.device, Device::gpu) || pool.pool.value() == kHostPool);
  };
  // The need of a lent load always matters.
  const bool counts = spec.eviction.auto_evict || spec.origin == residency::RequestOrigin::peer;
  if (std::ranges::none_of(sample.pools, may_be_short) && !counts) co_return residency::MemoryUse{};
  auto asked = co_await spec.backend->estimate(spec.model, spec.load_options);
  if (asked) co_return co_await sampler_->use_of(std::move(*asked));
  log::warning("router", "the memory need of {} is unknown: {}", spec.name.value(), asked.error().message);
  co_return residency::MemoryUse{};
}

async::Task<void> MemoryReporter::stop() {
  if (sampler_ != nullptr) sampler_->unwatch();
  co_await tasks_.join();
}

}  // namespace corral::router
