#include "fleet/base/demand.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string_view>
#include <tuple>

namespace corral::fleet {
namespace {

constexpr std::size_t kMaxModels = 512;
constexpr double kLeast = 1;         // requests an hour, to be announced
constexpr double kLeaves = 0.7;      // of a step: below that the next lower one is announced
constexpr double kForgotten = 0.25;  // requests an hour
constexpr Millis kLouder{2'000};     // the first waiting request adds a sixteenth, each such time another one
constexpr auto kLoudest = 6;

double hours(MonoClock::duration time) { return std::chrono::duration<double, std::ratio<3600>>(time).count(); }
const double kHalfLife = hours(kDemandHalfLife);

}  // namespace

double DecayedRate::left(MonoTime now) const { return sum_ * std::exp2(-hours(now - at_) / kHalfLife); }

void DecayedRate::add(MonoTime now) {
  sum_ = left(now) + 1;
  at_ = now;
}

// Requests at a steady rate r leave r * half-life / ln 2 of them.
double DecayedRate::per_hour(MonoTime now) const { return left(now) * std::numbers::ln2 / kHalfLife; }

double demand_step(double announced, double per_hour) {
  if (announced > 0 && per_hour >= announced * kLeaves && per_hour < 2 * announced) return announced;
  return per_hour < kLeast ? 0 : std::exp2(std::floor(std::log2(per_hour)));
}

DemandMeter::Entry& DemandMeter::entry_of(const ModelName& model, MonoTime now) {
  if (models_.size() >= kMaxModels && !models_.contains(model.value())) forget_one(now);
  return models_[model.value()];
}

void DemandMeter::count(const ModelName& model) {
  const auto now = clock_.now();
  const MutexLock lock(mutex_);
  auto& entry = entry_of(model, now);
  if (entry.counted > 0) {
    --entry.counted;
  } else {
    entry.rate.add(now);
  }
}

std::shared_ptr<void> DemandMeter::wait(const ModelName& model) {
  const auto now = clock_.now();
  const MutexLock lock(mutex_);
  auto& entry = entry_of(model, now);
  entry.rate.add(now);
  if (entry.waiting++ == 0) entry.since = now;
  ++entry.counted;
  return {this, [name = model.value()](DemandMeter* self) {
            const MutexLock ending(self->mutex_);
            const auto found = self->models_.find(name);
            if (found != self->models_.end() && found->second.waiting > 0) --found->second.waiting;
          }};
}

void DemandMeter::forget_one(MonoTime now) {
  models_.erase(
      std::ranges::min_element(models_, {}, [&](const auto& entry) { return entry.second.rate.per_hour(now); }));
}

std::vector<mesh::Demand> DemandMeter::announced() {
  const auto now = clock_.now();
  std::vector<mesh::Demand> list;
  std::set<std::string_view> waiting;  // without the request that waits for it, its model would never come
  const MutexLock lock(mutex_);
  std::erase_if(models_, [&](const auto& entry) { return entry.second.rate.per_hour(now) < kForgotten; });
  for (auto& [name, entry] : models_) {
    entry.announced = demand_step(entry.announced, entry.rate.per_hour(now));
    const auto more = entry.waiting == 0 ? 0 : std::min<std::int64_t>(1 + (now - entry.since) / kLouder, kLoudest);
    if (entry.announced > 0) list.push_back({name, entry.announced * (1 + static_cast<double>(more) / 16)});
    if (more > 0) waiting.insert(name);
  }
  if (list.size() > mesh::kNodeStateLimits.demand) {
    std::ranges::sort(list, {}, [&](const mesh::Demand& one) {
      return std::tuple(!waiting.contains(one.name), -one.per_hour, one.name);
    });
    list.resize(mesh::kNodeStateLimits.demand);
    std::ranges::sort(list, {}, &mesh::Demand::name);
  }
  return list;
}

}  // namespace corral::fleet
