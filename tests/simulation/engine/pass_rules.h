// The rules of scheduler.h, for one pass: running streams first, prompts within their budget, the oldest prompt gets
// its half, nothing is left over, no logits in the middle of a prompt. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/kv/batch.h"
#include "engine/schedule/pass_view.h"

namespace corral::engine::simulation {

// What a pass holds, counted.
struct PassSum {
  std::uint32_t tokens = 0;    // all together
  std::uint32_t streams = 0;   // that run, in the pass or not
  std::uint32_t decodes = 0;   // of these, in the pass
  std::uint32_t drafts = 0;    // behind them
  std::uint32_t prompts = 0;   // tokens of prompts in the pass
  std::uint32_t wanting = 0;   // tokens of prompts, in the pass or not
  std::uint32_t sessions = 0;  // in the pass
  std::uint32_t whole = 0;     // of these, with all that they have to compute
  std::uint32_t room = 0;      // for tokens of prompts, as the scheduler states it

  // The least that the oldest prompt gets, if it wants as much.
  std::uint32_t half() const { return room > 1 ? room / 2 : room; }
  // Prompts wait, so that it shows what running streams take without them.
  bool held() const { return wanting > 0 && room == 0; }
};
PassSum sum_of(const PassView& pass);

// The rule that this pass breaks; none otherwise. `batch` is what the memory was given.
std::optional<std::string> broken_rule(const PassView& pass, const Batch& batch);

}  // namespace corral::engine::simulation
