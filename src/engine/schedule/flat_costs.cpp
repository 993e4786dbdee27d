#include "engine/schedule/flat_costs.h"

#include <algorithm>
#include <utility>

namespace corral::engine {
namespace {

constexpr double kWeight = 0.15;  // of the newest pass
constexpr double kMaxChange = 2;  // a pass that took this many times as long was disturbed

}  // namespace

// One pass of any streams shows the time of all, so prompts wait for it, as on a CPU.
std::uint32_t FlatCosts::prompt_allowance(const PromptsView& view) const {
  const double alone = view.decoding > 0 ? this->alone() : 0;
  if (view.decoding > 0 && alone == 0 && view.prompts <= view.decoding) return 0;
  return steps_.allowance(view.decoding, alone, view.prompts, options_.target_step_ms, view.limit);
}

void FlatCosts::observe(const PassTime& pass) {
  if (!(pass.ms > 0)) return;  // the clock did not advance: no information
  if (pass.prefill > 0) {
    ++since_;
    const double alone = pass.decoding > 0 ? this->alone() : 0;
    if (pass.decoding > 0 && alone == 0) return;
    return steps_.observe({.decoding = pass.decoding, .prefill = pass.prefill, .ms = pass.ms, .decode_ms = alone});
  }
  if (alone_ms_ == 0 || since_ >= kStale) {
    alone_ms_ = pass.ms;
  } else if (!std::exchange(often_, true)) {  // the first pass of all loads kernels
    alone_ms_ = std::min(alone_ms_, pass.ms);
  } else {
    alone_ms_ *= 1 + kWeight * (std::clamp(pass.ms / alone_ms_, 1 / kMaxChange, kMaxChange) - 1);
  }
  since_ = 0;
}

}  // namespace corral::engine
