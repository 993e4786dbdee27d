// The cost model of models that are completely on GPUs: a pass waits for the weights, so further rows, and cells of
// other sequences, cost next to nothing. All running streams are in each pass, there are no padding rows, and the
// layout is unified. Only the number of prompt tokens beside the streams is learnt, from two values: the time of a pass
// without prompts, with any number of streams, and the time that a prompt token adds (PrefillPacer). One thread.
#pragma once

#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"

namespace corral::engine {

struct FlatCostOptions {
  double target_step_ms = 100;  // most that one prompt adds to a step of running streams
};

class FlatCosts final : public CostModel {
 public:
  explicit FlatCosts(FlatCostOptions options = {}) : options_(options) {}

  const PassCosts& rows() const override { return rows_; }
  std::uint32_t max_padding() const override { return 0; }
  std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t /*padding*/) const override { return rows; }
  Turn turn(std::uint32_t running, std::uint32_t /*padding*/) override { return {.sessions = running}; }
  std::uint32_t prompt_allowance(const PromptsView& view) const override;
  bool may_split() const override { return false; }
  KvShape layout(std::span<const LayoutView> /*sessions*/, LayoutFacts /*facts*/) override { return {}; }
  void memory_made(double /*ms*/) override {}
  void observe(const PassTime& pass) override;
  void share_threads(bool /*shared*/) override {}

 private:
  const FlatCostOptions options_;
  const FlatRows rows_;
  PrefillPacer steps_;
  static constexpr std::uint32_t kStale = 200;  // passes with prompts, after which a pass without is measured again

  double alone() const { return since_ < kStale ? alone_ms_ : 0; }

  double alone_ms_ = 0;      // time of a pass without prompts; 0: not known
  std::uint32_t since_ = 0;  // passes with prompts since the last one without
  bool often_ = false;       // more than one pass was measured
};

}  // namespace corral::engine
