// Cost models for the worker's core: whatever one decides within its contract, the answers are the same.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "engine/schedule/cost_model.h"

namespace corral::engine::simulation {

// Decides as it happens, but for the prompt tokens beside running streams: as long as nothing else changes, who belongs
// into the lane stays so. Lays cells out anew wherever that is said to gain anything.
class FickleCosts final : public CostModel {
 public:
  explicit FickleCosts(std::uint64_t seed)
      : random_(seed), allowance_(1 + static_cast<std::uint32_t>(random_() % 80)) {}

  const PassCosts& rows() const override { return rows_; }
  std::uint32_t max_padding() const override { return kMaxPadding; }
  std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t padding) const override;
  Turn turn(std::uint32_t running, std::uint32_t padding) override;
  std::uint32_t prompt_allowance(const PromptsView& view) const override;
  bool may_split() const override { return true; }
  KvShape layout(std::span<const LayoutView> sessions, LayoutFacts facts) override;
  void memory_made(double) override {}
  void observe(const PassTime&) override { ++passes_; }
  void share_threads(bool) override {}

 private:
  std::mt19937_64 random_;
  const std::uint32_t allowance_;
  std::uint64_t passes_ = 0;
  const FlatRows rows_;
};

}  // namespace corral::engine::simulation
