// The cost model of CPUs: nothing is known of them but what was measured, and it isn't what one would think. Seven rows
// can take a fifth longer than eight, two can take longer than one after another, chunks of prompts get cheaper by
// leaps, and attention passes over the cells of others. One thread.
//
// Learns what passes take by their rows (RowCosts), what a prompt token takes beside running streams (PrefillPacer),
// each with all threads and with those that the lane leaves; how long it stays quiet between long prompts (QuietTimes).
// Decides by pass_rows.h, scheduler.h and layout.h, which are pure.
#pragma once

#include <array>

#include "engine/schedule/cost_model.h"
#include "engine/schedule/row_costs.h"
#include "engine/schedule/scheduler.h"

namespace corral::engine {

struct CpuCostOptions {
  bool measure_rows = true;     // false: all streams go at once, no pass is filled up, rows of guesses count as cheap
  double target_step_ms = 100;  // most that one prompt adds to a step of running streams
  double foreign_cell_ms = 0;   // see LayoutFacts
  double move_cell_ms = 0;
};

class CpuCosts final : public CostModel {
 public:
  explicit CpuCosts(CpuCostOptions options = {}) : options_(options) {}

  const PassCosts& rows() const override;
  std::uint32_t max_padding() const override { return options_.measure_rows ? kMaxPadding : 0; }
  std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t padding) const override;
  Turn turn(std::uint32_t running, std::uint32_t padding) override;
  std::uint32_t prompt_allowance(const PromptsView& view) const override;
  bool may_split() const override { return options_.foreign_cell_ms > 0; }
  KvShape layout(std::span<const LayoutView> sessions, LayoutFacts facts) override;
  void memory_made(double ms) override;
  void observe(const PassTime& pass) override;
  void share_threads(bool shared) override;

 private:
  struct Pace {
    PrefillPacer steps;
    RowCosts rows;
  };
  const Pace& pacer() const { return shared_ ? with_half_ : with_all_; }
  Pace& pacer() { return shared_ ? with_half_ : with_all_; }
  double streams_alone(std::uint32_t streams, bool may_fill, const Pace& pacer) const;

  const CpuCostOptions options_;
  Pace with_all_;
  Pace with_half_;
  bool shared_ = false;
  bool half_known_ = false;     // something was measured with half of the threads
  std::uint32_t in_turns_ = 0;  // so many running streams go one at a time; 0: all at once
  double make_ms_ = 50;         // to free a memory and make another, learnt
  QuietTimes quiet_times_;
  const FlatRows flat_;
};

}  // namespace corral::engine
