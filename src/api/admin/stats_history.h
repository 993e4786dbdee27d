// Statistics of the last hour, a row for each interval, in a ring of fixed size. Pure: the caller gives samples and the
// time. Durations come from the monotonic clock; the wall clock is for display.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "backends/wrapped_server.h"
#include "residency/types.h"
#include "router/reports.h"

namespace corral::api {

// Sums over all models since the start of the router.
struct StatsTotals {
  std::uint64_t requests = 0, failed_requests = 0, refused_requests = 0, cancelled_requests = 0;
  std::uint64_t input_tokens = 0, cached_tokens = 0, output_tokens = 0;
  std::uint64_t loads = 0, failed_loads = 0, aborted_loads = 0;
  std::uint64_t evictions = 0, unloads = 0, crashes = 0;
};
StatsTotals totals_of(const router::Metrics& models);
// The rules stopped the model, for memory, a slot or a timeout; no user, no reload and no failure did.
bool is_eviction(residency::StopReason reason);

// Bytes of one memory pool.
struct PoolUsage {
  std::string id = {}, name = {};
  std::uint64_t total = 0;
  std::uint64_t models = 0;  // all models, as GET memory shows them
  std::uint64_t other = 0;   // other programs
  std::uint64_t free = 0;
};
std::vector<PoolUsage> pool_usage_of(const router::MemoryReport& memory);

struct StatsSample {
  std::size_t running_requests = 0, queued_requests = 0;
  std::size_t load_queue_models = 0, load_queue_requests = 0;
  StatsTotals totals = {};
  std::vector<PoolUsage> pools = {};  // empty: not measured
};

// One interval. Counts are of the interval, all other values of its end.
struct StatsRow {
  struct Pool {
    std::size_t pool = 0;  // index in StatsHistory::pools()
    std::uint64_t models = 0, other = 0, free = 0;
  };
  WallTime time;  // of its end
  MonoTime from, to;
  std::size_t running_requests = 0, queued_requests = 0;
  std::size_t load_queue_models = 0, load_queue_requests = 0;
  std::uint64_t requests = 0, failed_requests = 0, loads = 0, failed_loads = 0, evictions = 0;
  double input_tokens = 0;  // without cached ones
  double output_tokens = 0;
  std::vector<Pool> pools;

  double seconds() const { return seconds_between(from, to); }
};

class StatsHistory {
 public:
  static constexpr std::size_t kRows = 360;
  static constexpr std::size_t kMaxPools = 32;  // more are left out

  explicit StatsHistory(MonoTime start) { open_.from = start; }

  // Ends the current interval. The first sample is only the base of the counts.
  void add(const StatsSample& sample, residency::Now now);
  // Usage of a request that has just ended. Its tokens are spread over the rows of the time in which they were
  // computed: otherwise a long answer would be a peak at its end.
  void used(const backends::RequestStats& stats, MonoTime now);

  const std::deque<StatsRow>& rows() const { return rows_; }  // oldest first; times ascend
  // Of all rows, with the latest sizes; the other numbers are in the rows.
  const std::vector<PoolUsage>& pools() const { return pools_; }

 private:
  void spread(double StatsRow::* column, double amount, MonoTime begin, MonoTime end);
  void measure(const std::vector<PoolUsage>& pools);

  std::deque<StatsRow> rows_;
  StatsRow open_;  // the current interval
  bool has_base_ = false;
  StatsTotals base_;
  std::vector<PoolUsage> pools_;
};

}  // namespace corral::api
