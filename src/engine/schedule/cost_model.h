// What passes take on the device of a worker, and the decisions that follow from nothing else: how many rows a pass of
// running streams has and which of them go, how many prompt tokens go beside them, how the KV cells are laid out, what
// a guess may cost. The worker asks, and tells what each pass took; of devices it knows nothing. One thread.
//
// Which one a worker has is chosen at the load, by where the model computes (all_on_gpus()):
// - CpuCosts (cpu_costs.h): everything is measured, since seven rows may take longer than eight, and a cell that is
//   somebody else's costs time.
// - FlatCosts (flat_costs.h): a row more costs next to nothing. All streams go in each pass, in one pool of cells.
// Tests have made-up ones.
#pragma once

#include <cstdint>
#include <span>

#include "engine/schedule/layout.h"
#include "engine/schedule/pass_costs.h"
#include "engine/schedule/pass_rows.h"

namespace corral::engine {

// A pass that went through.
struct PassTime {
  std::uint32_t rows = 0;      // all of them, with guesses and rows that nobody wants
  std::uint32_t decoding = 0;  // tokens of running streams beside prompts
  std::uint32_t prefill = 0;   // tokens of prompts
  bool may_fill = false;       // rows that nobody wants could be put into one of these streams alone
  double ms = 0;
};

// Prompts beside running streams.
struct PromptsView {
  std::uint32_t decoding = 0;  // running streams
  std::uint32_t prompts = 0;   // sessions that wait with theirs, in a place or for one
  std::uint32_t limit = 0;     // tokens that a pass has room for
  bool may_fill = false;       // as in PassTime
  bool all_threads = false;    // if the lane took none of them
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  // What guesses are weighed with.
  virtual const PassCosts& rows() const = 0;
  // Rows for nobody that a pass may ever have.
  virtual std::uint32_t max_padding() const = 0;
  // How many rows to compute where `rows` are wanted and up to `padding rows` more may be added; `rows` or more.
  virtual std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t padding) const = 0;
  // How many of the running streams (1 or more) go into a pass when nothing else is to be done, with room for so many
  // padding rows. A trial is to find out what so many take: no guesses go with it.
  virtual Turn turn(std::uint32_t running, std::uint32_t padding) = 0;

  // Prompt tokens for the next pass; 0: first a pass is to show what the running streams take alone.
  virtual std::uint32_t prompt_allowance(const PromptsView& view) const = 0;

  // Whether any other layout than one pool may be worth it.
  virtual bool may_split() const = 0;
  // The layout to have for these, before each pass; of `facts`, what the cost model knows is still to be filled in.
  virtual KvShape layout(std::span<const LayoutView> sessions, LayoutFacts facts) = 0;
  // To free a memory and make another took so long.
  virtual void memory_made(double ms) = 0;

  virtual void observe(const PassTime& pass) = 0;
  // From now on passes have all threads, or half of them (the lane has the others).
  virtual void share_threads(bool shared) = 0;
};

// Where a model computes.
struct DeviceUse {
  std::uint32_t gpus = 0;        // that have a part of it
  std::int32_t gpu_layers = -1;  // EngineLoadOptions::n_gpu_layers
  std::uint32_t layers = 0;      // without the output, which counts as one more
};
// What the CPU has to do with a part of each pass decides how long it takes.
constexpr bool all_on_gpus(const DeviceUse& use) {
  return use.gpus > 0 && (use.gpu_layers < 0 || static_cast<std::uint32_t>(use.gpu_layers) > use.layers);
}

}  // namespace corral::engine
