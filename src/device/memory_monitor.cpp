#include "device/memory_monitor.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "device/amd.h"
#include "device/driver_source.h"
#include "device/either_source.h"
#include "device/nvidia_smi.h"
#include "device/nvml.h"

namespace corral::device {
namespace {

// The first call wakes up an unused GPU, which takes seconds.
constexpr Millis kDriverDeadline{10'000};

std::string names_of(const MemoryPools& pools) {
  if (pools.empty()) return "no memory of its own";
  std::string text;
  for (const auto& pool : pools) {
    constexpr double kGiB = 1 << 30;
    fmt::format_to(std::back_inserter(text), "{}{} ({}, {:.1f} GiB)", text.empty() ? "" : ", ", pool.id, pool.name,
                   static_cast<double>(pool.total) / kGiB);
  }
  return text;
}

}  // namespace

PoolSources gpu_sources(async::Executor home, async::Timers& timers, proc::Spawner& spawner) {
  const auto driver = [&](const char* name, std::unique_ptr<DriverProbe> probe) {
    return std::make_unique<DriverSource>(home, timers, name, std::move(probe), kDriverDeadline);
  };
  PoolSources sources;
  sources.push_back(
      std::make_unique<EitherSource>(driver("NVIDIA", std::make_unique<NvmlProbe>(NvmlOptions{})),
                                     std::make_unique<NvidiaSmiSource>(timers, spawner, NvidiaSmiOptions{})));
  sources.push_back(driver("AMD", std::make_unique<AmdProbe>(AmdOptions{})));
  return sources;
}

MemoryMonitor::MemoryMonitor(async::Executor home, async::Timers& timers, MemoryMonitorOptions options,
                             PoolSources gpus)
    : timers_(timers), options_(std::move(options)), quiet_(home), answered_(home), watch_(home), questions_(home) {
  for (auto& source : gpus) gpus_.push_back(std::make_unique<Gpus>(std::move(source)));
  quiet_.set();
  if (gpus_.empty()) answered_.set();
}

async::Task<void> MemoryMonitor::first_answers() {
  ask_all();
  co_await answered_.wait();
}

async::Task<MemoryPools> MemoryMonitor::sample() {
  ask_all();
  if (asked_ > 0) {
    auto answers = all_answered();
    co_await async::with_timeout(timers_, options_.patience, std::move(answers));
  }
  MemoryPools pools{ram()};
  for (const auto& gpus : gpus_) pools.insert(pools.end(), gpus->pools.begin(), gpus->pools.end());
  co_return pools;
}

void MemoryMonitor::ask_all() {
  for (const auto& gpus : gpus_) {
    if (gpus->asked || timers_.now() < gpus->next) continue;
    gpus->asked = true;
    ++asked_;
    quiet_.reset();
    questions_.spawn("memory of GPUs", ask(gpus.get()));
  }
}

async::Task<void> MemoryMonitor::ask(Gpus* gpus) {
  // Takes note on every exit.
  struct Asked {
    MemoryMonitor& self;
    Gpus& gpus;
    ~Asked() {
      gpus.asked = false;
      gpus.answered = true;
      if (std::ranges::all_of(self.gpus_, [](const auto& one) { return one->answered; })) self.answered_.set();
      if (--self.asked_ == 0) self.quiet_.set();
    }
  } const asked{*this, *gpus};
  auto answer = co_await gpus->source->sample();
  if (!answer) {
    failed(*gpus, answer.error());
    co_return;
  }
  const bool changed = !std::ranges::equal(*answer, gpus->pools, {}, &MemoryPool::id, &MemoryPool::id);
  if (changed) log::info("device", "{}: {}", gpus->source->name(), names_of(*answer));
  gpus->pools = std::move(*answer);
  gpus->failures = 0;
}

void MemoryMonitor::failed(Gpus& gpus, const Error& error) {
  Millis pause = options_.last_pause;
  if (error.code != errc::absent) {
    pause = std::min(options_.first_pause * (1u << std::min(gpus.failures, 20u)), options_.last_pause);
    log::warning("device", "{}: {}; left out, asked again in {} s", gpus.source->name(), error.message,
                 pause.count() / 1000);
    ++gpus.failures;
  }
  gpus.pools.clear();
  gpus.next = timers_.now() + pause;
}

async::Task<bool> MemoryMonitor::all_answered() {
  co_await quiet_.wait();
  co_return true;
}

void MemoryMonitor::watch(Millis interval, OnSample on_sample) {
  watch_.cancel();
  watching_ = true;
  watch_.spawn("memory watch", keep_sampling(interval, std::move(on_sample)));
}

void MemoryMonitor::unwatch() {
  watching_ = false;
  watch_.cancel();
}

async::Task<void> MemoryMonitor::keep_sampling(Millis interval, OnSample on_sample) {
  // A task must have waited once before it can be cancelled from inside.
  co_await async::asio::post(async::use_task);
  for (;;) {
    const auto pools = co_await sample();
    on_sample(pools);
    co_await timers_.sleep_for(interval);
  }
}

async::Task<void> MemoryMonitor::stop() {
  unwatch();
  questions_.cancel();
  co_await watch_.join();
  co_await questions_.join();
}

}  // namespace corral::device
