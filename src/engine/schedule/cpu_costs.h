// The cost model of CPUs. It measures everything, because the costs are not what one expects: seven rows can take a
// fifth longer than eight, two rows can take longer than one after another, chunks of prompts get cheaper in steps, and
// attention scans the cells of other sequences. One thread.
//
// Learns the time of passes by number of rows (RowCosts), and the time of a prompt token beside running streams
// (PrefillPacer), each with all threads and with those that the lane leaves; also the usual time between long prompts
// (QuietTimes). Decides by pass_rows.h, scheduler.h and layout.h, which are pure.
#pragma once

#include <array>

#include "engine/schedule/cost_model.h"
#include "engine/schedule/row_costs.h"
#include "engine/schedule/scheduler.h"

namespace corral::engine {

struct CpuCostOptions {
  bool measure_rows = true;     // false: all streams are in each pass, no padding rows, rows of draft tokens are
                                // treated as cheap
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
  const Pace& pace() const { return shared_ ? with_half_ : with_all_; }
  Pace& pace() { return shared_ ? with_half_ : with_all_; }
  double streams_alone(std::uint32_t streams, bool may_fill, const Pace& pace) const;

  const CpuCostOptions options_;
  Pace with_all_;
  Pace with_half_;
  bool shared_ = false;
  bool half_known_ = false;     // there are measurements with half of the threads
  std::uint32_t in_turns_ = 0;  // number of running streams that go one at a time; 0: all at once
  double make_ms_ = 50;         // measured time to free a memory and allocate another
  QuietTimes quiet_times_;
  const FlatRows flat_;
};

}  // namespace corral::engine
