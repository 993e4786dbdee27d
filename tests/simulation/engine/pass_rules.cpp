#include "simulation/engine/pass_rules.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "engine/schedule/pass_rows.h"

namespace corral::engine::simulation {
namespace {

std::optional<std::string> broken_alone(const PassView& pass, const PassSum& sum, const Batch& batch) {
  if (sum.sessions != 1) return fmt::format("{} sessions in a pass that is to show who is to blame", sum.sessions);
  const auto one = std::ranges::find_if(pass.sessions, [](const PassView::Row& row) { return row.tokens > 0; });
  if (one->tokens != std::min(one->state.pending, batch.capacity()))
    return fmt::format("session {} computes {} tokens alone, of {}", one->session.value(), one->tokens,
                       one->state.pending);
  return std::nullopt;
}

// The one that asked first.
const PassView::Row* oldest_prompt(const PassView& pass) {
  const PassView::Row* oldest = nullptr;
  for (const PassView::Row& row : pass.sessions) {
    if (!row.other && !row.state.decoding && (oldest == nullptr || row.state.order < oldest->state.order))
      oldest = &row;
  }
  return oldest;
}

}  // namespace

PassSum sum_of(const PassView& pass) {
  PassSum sum;
  for (const PassView::Row& row : pass.sessions) {
    if (row.other) continue;
    sum.tokens += row.tokens + row.drafts;
    sum.drafts += row.drafts;
    sum.sessions += row.tokens > 0 ? 1 : 0;
    sum.whole += row.tokens > 0 && row.tokens == row.state.pending ? 1 : 0;
    if (row.state.decoding) {
      ++sum.streams;
      sum.decodes += row.tokens;
    } else {
      sum.prompts += row.tokens;
      sum.wanting += row.state.pending;
    }
  }
  sum.room = pass.limits.tokens - std::min(pass.limits.tokens, sum.streams);
  if (sum.streams > 0) sum.room = std::min(sum.room, pass.limits.prefill);
  return sum;
}

std::optional<std::string> broken_rule(const PassView& pass, const Batch& batch) {
  const PassSum sum = sum_of(pass);
  if (sum.tokens + pass.padding != batch.size())
    return fmt::format("a pass of {} tokens, where {} and {} were planned", batch.size(), sum.tokens, pass.padding);
  if (pass.padding > 0 && (sum.prompts > 0 || pass.alone || pass.padding > kMaxPadding))
    return fmt::format("{} rows that nobody wants", pass.padding);
  if (batch.size() > batch.capacity()) return fmt::format("a pass of {} tokens", batch.size());
  // Logits are wanted behind the last token of a prompt only; they cost a row of the last matrix each.
  const auto flags = std::span(batch.raw().logits, batch.size());
  const auto outputs = static_cast<std::uint32_t>(std::ranges::count_if(flags, [](auto flag) { return flag != 0; }));
  if (const std::uint32_t max = sum.whole + sum.drafts + pass.padding; outputs > max)
    return fmt::format("{} rows of logits, where {} may be wanted", outputs, max);
  for (const PassView::Row& row : pass.sessions) {
    if (row.other && row.tokens > 0) return "sessions of different adapters in one pass";
    if (row.tokens > row.state.pending)
      return fmt::format("session {}: {} of {} tokens", row.session.value(), row.tokens, row.state.pending);
    if (row.drafts > 0 && row.tokens == 0) return fmt::format("session {}: nothing but guesses", row.session.value());
  }
  if (pass.alone) return broken_alone(pass, sum, batch);

  if (pass.limits.tokens != batch.capacity()) return "the pass isn't planned for the batch there is";
  if (sum.wanting == 0) return std::nullopt;  // streams only, all or some in turn
  if (sum.decodes != sum.streams)
    return fmt::format("{} of {} running streams stand still for a prompt", sum.streams - sum.decodes, sum.streams);
  if (sum.drafts > 0) return "guesses beside a prompt";
  if (sum.prompts > sum.room)
    return fmt::format("{} tokens of prompts beside {} streams, where {} may be", sum.prompts, sum.streams, sum.room);
  if (sum.prompts < std::min(sum.room, sum.wanting))
    return fmt::format("{} tokens of prompts, where {} may be and {} wait", sum.prompts, sum.room, sum.wanting);
  const PassView::Row& oldest = *oldest_prompt(pass);
  if (oldest.tokens < std::min(oldest.state.pending, sum.half()))
    return fmt::format("session {}: the oldest prompt gets {} tokens of {}", oldest.session.value(), oldest.tokens,
                       sum.room);
  return std::nullopt;
}

}  // namespace corral::engine::simulation
