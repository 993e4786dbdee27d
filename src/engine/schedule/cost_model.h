// Predicts the time of passes on a worker's device, and makes the decisions that depend only on it: how many rows a
// pass of running streams has and which streams are in it, how many prompt tokens go beside them, the KV layout, and
// how many draft tokens pay. The worker reports the time of each pass, and does not know the device. One thread.
//
// The load chooses the model by where the layers are (all_on_gpus()):
// - CpuCosts (cpu_costs.h): measures everything, since seven rows may take longer than eight, and cells of other
//   sequences cost time.
// - FlatCosts (flat_costs.h): a further row costs next to nothing. All streams are in each pass, and the layout is
//   unified.
//
// Tests have fakes.
#pragma once

#include <cstdint>
#include <span>

#include "engine/schedule/layout.h"
#include "engine/schedule/pass_costs.h"
#include "engine/schedule/pass_rows.h"

namespace corral::engine {

// A successful pass.
struct PassTime {
  std::uint32_t rows = 0;      // all of them, with draft tokens and padding rows
  std::uint32_t decoding = 0;  // tokens of running streams beside prompts
  std::uint32_t prefill = 0;   // tokens of prompts
  bool may_fill = false;       // padding rows could be added to a pass of these streams alone
  double ms = 0;
};

// Prompts beside running streams.
struct PromptsView {
  std::uint32_t decoding = 0;  // running streams
  std::uint32_t prompts = 0;   // sessions with prompts, admitted or waiting
  std::uint32_t limit = 0;     // most tokens of a pass
  bool may_fill = false;       // as in PassTime
  bool all_threads = false;    // as if the lane used no threads
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  // Costs that decide about draft tokens.
  virtual const PassCosts& rows() const = 0;
  // Most padding rows of a pass.
  virtual std::uint32_t max_padding() const = 0;
  // Rows to compute if `rows` are needed and up to `padding` rows may be added; at least `rows`.
  virtual std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t padding) const = 0;
  // Number of running streams (at least 1) in a pass without prompts, if up to `padding` rows may be added. A trial
  // measures the time of so many streams: without draft tokens.
  virtual Turn turn(std::uint32_t running, std::uint32_t padding) = 0;

  // Prompt tokens for the next pass; 0: the pass must measure the running streams alone first.
  virtual std::uint32_t prompt_allowance(const PromptsView& view) const = 0;

  // Whether a split layout may ever pay.
  virtual bool may_split() const = 0;
  // The best layout for these sessions; called before each pass. The cost model fills in its own fields of `facts`.
  virtual KvShape layout(std::span<const LayoutView> sessions, LayoutFacts facts) = 0;
  // Reports the time to free a memory and allocate another.
  virtual void memory_made(double ms) = 0;

  virtual void observe(const PassTime& pass) = 0;
  // From now on passes have half of the threads (the lane has the others), or all.
  virtual void share_threads(bool shared) = 0;
};

// Where a model computes.
struct DeviceUse {
  std::uint32_t gpus = 0;        // GPUs with a part of the model
  std::int32_t gpu_layers = -1;  // EngineLoadOptions::n_gpu_layers
  std::uint32_t layers = 0;      // without the output, which counts as one more
};
// If the CPU computes a part of each pass, it determines the time.
constexpr bool all_on_gpus(const DeviceUse& use) {
  return use.gpus > 0 && (use.gpu_layers < 0 || static_cast<std::uint32_t>(use.gpu_layers) > use.layers);
}

}  // namespace corral::engine
