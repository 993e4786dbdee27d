#include "engine/pass/prompt_budget.h"

#include <algorithm>

namespace corral::engine {

RunnableView runnable_view(const Session& session) {
  const Generation& generation = *session.generation;
  const bool decoding = session.decoding();
  return {.pending = session.to_compute_at_once(),
          .decoding = decoding,
          .settled = decoding && generation.usage.completion_tokens >= kSettledAfter,
          .order = generation.order};
}

std::uint32_t PromptBudget::beside(std::uint32_t decoding, bool all_threads) const {
  const auto all = static_cast<std::uint32_t>(sessions_.active().size() + sessions_.waiting().size());
  return costs_.prompt_allowance({.decoding = decoding,
                                  .prompts = all - std::min(all, decoding),
                                  .limit = batch_,
                                  .may_fill = kv_.may_fill(),
                                  .all_threads = all_threads});
}

std::uint32_t PromptBudget::beside(std::span<const RunnableView> sessions) const {
  if (!wants_even_steps(sessions, lane_tokens_)) return batch_;
  return beside(static_cast<std::uint32_t>(std::ranges::count_if(sessions, &RunnableView::decoding)));
}

}  // namespace corral::engine
