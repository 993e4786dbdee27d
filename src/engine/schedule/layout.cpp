#include "engine/schedule/layout.h"

#include <algorithm>
#include <numeric>

namespace corral::engine {
namespace {

// Assumed further steps of a session without a limit.
constexpr std::uint32_t kForesight = 128;
// Free cells left in the part of a session that may continue longer, so that it doesn't outgrow the part at once.
constexpr std::uint32_t kHeadroom = 64;
// Prompts of this total length beside running streams are worth fusing with them.
constexpr std::uint32_t kLongPrompts = 256;
// A change must save this many times its costs.
constexpr double kMargin = 2.0;

// Saving of a pass that has decodes and prefill, in passes of the decodes alone: its tiles are fuller.
constexpr double kFusing = 0.4;

// Summary of all sessions.
struct Survey {
  std::uint32_t running = 0;  // admitted sessions, or those that will be
  std::uint32_t longest = 0;  // cells that the longest session needs
  std::uint32_t decoding = 0;
  std::uint32_t prompts = 0;  // tokens that wait for prefill
  std::uint32_t cells = 0;    // to be moved by a change
  std::uint32_t steps = 0;    // expected further steps of all of them
  double foreign_ms = 0;      // time per token for cells of others in a unified layout
};

std::uint32_t prompt_tokens(const LayoutView& session) {
  const std::uint32_t pending = session.tokens - session.cached;
  return pending > 1 ? pending : 0;
}

Survey survey(std::span<const LayoutView> sessions, const LayoutFacts& facts) {
  Survey of;
  of.running = static_cast<std::uint32_t>(std::min<std::size_t>(sessions.size(), facts.max_streams));
  of.cells = facts.idle_cells;
  of.steps = std::min(kForesight, facts.foresight);
  // If sessions wait for admission, another one follows each that ends.
  const bool follows = sessions.size() > of.running;
  double tokens = 0;
  for (const LayoutView& session : sessions) {
    const std::uint32_t open_end = session.remaining > kForesight ? kHeadroom : 0;
    of.longest = std::max(of.longest, session.tokens + std::min(session.remaining, kForesight) + open_end);
    of.decoding += session.tokens - session.cached == 1 ? 1 : 0;
    of.prompts += prompt_tokens(session);
    of.cells += session.cached;
    if (!follows) of.steps = std::min(of.steps, std::max(1u, session.remaining));
    tokens += session.tokens;
  }
  // Their histories grow meanwhile.
  const double own = tokens / static_cast<double>(sessions.size()) + of.steps / 2.0;
  const double all = std::min<double>(facts.cells, own * of.running + facts.idle_cells);
  of.foreign_ms = std::max(0.0, all - own) * facts.foreign_cell_ms;
  return of;
}

std::uint32_t part_of(const LayoutFacts& facts, std::uint32_t streams) {
  return facts.cells / streams / facts.multiple * facts.multiple;
}

// Gain of a unified layout until the prompts beside running streams are done, in ms. Negative if it is so full that the
// cells of others cost more than separate passes.
double fusing_gain(const Survey& of, const LayoutFacts& facts) {
  if (of.decoding == 0 || of.prompts < kLongPrompts) return 0;
  const double steps = static_cast<double>(of.prompts) / std::max(1u, facts.chunk);
  return steps * (kFusing * facts.pass_ms - of.decoding * of.foreign_ms) - of.prompts * of.foreign_ms;
}

double change_ms(const Survey& of, const LayoutFacts& facts) {
  return (facts.made ? facts.make_ms : 0) + of.cells * facts.move_cell_ms;
}

}  // namespace

KvShape choose_layout(std::span<const LayoutView> sessions, const LayoutFacts& facts) {
  if (facts.foreign_cell_ms <= 0) return {};
  if (sessions.empty()) return facts.now;
  const Survey of = survey(sessions, facts);
  // As many parts as the longest session allows. If sessions wait anyway, a few sequences less are no loss.
  const bool crowd = sessions.size() > (facts.now.unified() ? facts.max_streams : facts.now.streams);
  const std::uint32_t least = crowd ? of.running - of.running / 4 : of.running;
  std::uint32_t streams = facts.max_streams;
  while (streams > least && part_of(facts, streams) < of.longest) --streams;
  const bool fits = part_of(facts, streams) >= of.longest;
  const double fusing = fusing_gain(of, facts);

  if (!facts.now.unified()) {
    const std::uint32_t part = part_of(facts, facts.now.streams);
    const bool outgrown =
        std::ranges::any_of(sessions, [&](const LayoutView& s) { return s.tokens + std::min(s.remaining, 1u) > part; });
    if (outgrown || (facts.now.streams < least && !fits) || fusing > change_ms(of, facts)) return {};
    if (facts.now.streams < least) return {.streams = streams};
    return facts.now;
  }
  if (!fits || of.running < 2 || (of.prompts > 0 && of.decoding == 0)) return facts.now;
  const double gain = of.steps * of.running * of.foreign_ms - fusing;
  return gain > kMargin * change_ms(of, facts) ? KvShape{.streams = streams} : facts.now;
}

void QuietTimes::observe(std::span<const LayoutView> sessions, const LayoutFacts& facts) {
  if (sessions.empty() || fusing_gain(survey(sessions, facts), facts) <= 0) {
    ++now_;
    return;
  }
  if (now_ > 0) usual_ = std::midpoint(std::min(usual_, kForesight), now_);
  now_ = 0;
}

}  // namespace corral::engine
