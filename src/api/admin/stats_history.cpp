#include "api/admin/stats_history.h"

#include <algorithm>
#include <utility>

namespace corral::api {
namespace {

// The shortest time over which tokens are spread.
constexpr Millis kMoment{1};

// Far more than the history has. Speeds come from other servers: one of 1e-300 tokens per second must not overflow.
constexpr double kLongestTime = 7 * 24 * 3600.0;

MonoClock::duration in_seconds(double seconds) {
  return std::chrono::duration_cast<MonoClock::duration>(
      std::chrono::duration<double>(std::min(std::max(0.0, seconds), kLongestTime)));
}

}  // namespace

bool is_eviction(residency::StopReason reason) {
  using enum residency::StopReason;
  switch (reason) {
    case room:
    case npu:
    case memory:
    case evict_all:
    case limit:
    case idle:
    case pressure:
    case lend:
    case recall:
    case yield:
      return true;
    case none:
    case reload:
    case unload:
    case cancelled:
    case deadline:
    case shutdown:
      return false;
  }
  return false;
}

StatsTotals totals_of(const router::Metrics& models) {
  StatsTotals sum;
  for (const auto& [model, counted] : models) {
    const auto requests = [&](router::Outcome outcome) { return counted.requests[static_cast<std::size_t>(outcome)]; };
    const auto loads = [&](router::LoadOutcome outcome) { return counted.loads[static_cast<std::size_t>(outcome)]; };
    for (const auto count : counted.requests) sum.requests += count;
    sum.failed_requests += requests(router::Outcome::failed);
    sum.refused_requests += requests(router::Outcome::refused);
    sum.cancelled_requests += requests(router::Outcome::cancelled);
    sum.input_tokens += counted.input_tokens;
    sum.cached_tokens += counted.cached_tokens;
    sum.output_tokens += counted.output_tokens;
    sum.loads += loads(router::LoadOutcome::loaded);
    sum.failed_loads += loads(router::LoadOutcome::failed);
    sum.aborted_loads += loads(router::LoadOutcome::aborted);
    for (std::size_t i = 0; i < counted.stops.size(); ++i) {
      const auto reason = static_cast<residency::StopReason>(i);
      if (is_eviction(reason)) sum.evictions += counted.stops[i];
      if (reason == residency::StopReason::unload) sum.unloads += counted.stops[i];
    }
    sum.crashes += counted.crashes;
  }
  return sum;
}

std::vector<PoolUsage> pool_usage_of(const router::MemoryReport& memory) {
  std::vector<PoolUsage> all;
  for (const auto& [pool, other, free] : memory.pools) {
    PoolUsage usage{.id = pool.id, .name = pool.name, .total = pool.total, .other = other, .free = free};
    for (const auto& user : memory.users)
      for (const auto& parts : user.parts)
        if (parts.pool == pool.id) usage.models += parts.total();
    all.push_back(std::move(usage));
  }
  return all;
}

void StatsHistory::add(const StatsSample& sample, residency::Now now) {
  const auto& totals = sample.totals;
  const auto base = std::exchange(base_, totals);
  if (!std::exchange(has_base_, true)) return;
  auto& row = open_;
  row.time = now.wall;
  row.to = std::max(now.mono, row.from + kMoment);
  row.running_requests = sample.running_requests;
  row.queued_requests = sample.queued_requests;
  row.load_queue_models = sample.load_queue_models;
  row.load_queue_requests = sample.load_queue_requests;
  row.requests = totals.requests - base.requests;
  row.failed_requests = totals.failed_requests - base.failed_requests;
  row.loads = totals.loads - base.loads;
  row.failed_loads = totals.failed_loads - base.failed_loads;
  row.evictions = totals.evictions - base.evictions;
  measure(sample.pools);
  // The wall clock was set back: times must ascend.
  while (!rows_.empty() && rows_.back().time >= row.time) rows_.pop_back();
  if (rows_.size() == kRows) rows_.pop_front();
  const auto end = row.to;
  rows_.push_back(std::exchange(open_, {}));
  open_.from = end;
}

void StatsHistory::measure(const std::vector<PoolUsage>& pools) {
  for (const auto& measured : pools) {
    auto known = std::ranges::find(pools_, measured.id, &PoolUsage::id);
    if (known == pools_.end()) {
      if (pools_.size() == kMaxPools) continue;
      known = pools_.insert(pools_.end(), measured);
    }
    known->total = measured.total;
    open_.pools.push_back({.pool = static_cast<std::size_t>(known - pools_.begin()),
                           .models = measured.models,
                           .other = measured.other,
                           .free = measured.free});
  }
}

void StatsHistory::used(const backends::RequestStats& stats, MonoTime now) {
  const auto output = static_cast<double>(stats.output_tokens);
  const double seconds = stats.tokens_per_second > 0 ? output / stats.tokens_per_second : 0;
  const auto first_token = now - in_seconds(seconds);
  spread(&StatsRow::output_tokens, output, first_token, now);
  const auto computed = stats.input_tokens - std::min(stats.input_tokens, stats.cached_tokens);
  const auto arrival = first_token - in_seconds(stats.time_to_first_token);
  spread(&StatsRow::input_tokens, static_cast<double>(computed), arrival, first_token);
}

void StatsHistory::spread(double StatsRow::* column, double amount, MonoTime begin, MonoTime end) {
  begin = std::min<MonoTime>(begin, end - kMoment);
  const double per_second = amount / seconds_between(begin, end);
  const auto part = [&](StatsRow& row, MonoTime to) {
    const auto from = std::max(begin, row.from);
    if (from < to) row.*column += per_second * seconds_between(from, to);
  };
  part(open_, end);
  for (auto row = rows_.rbegin(); row != rows_.rend() && row->to > begin; ++row) part(*row, std::min(end, row->to));
}

}  // namespace corral::api
