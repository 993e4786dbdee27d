#include "engine/layout.h"

#include <algorithm>
#include <numeric>

namespace corral::engine {
namespace {

// How far ahead a session without a limit is thought to go on.
constexpr std::uint32_t kForesight = 128;
// Room left behind a session in its part, so that it doesn't outgrow it at once.
constexpr std::uint32_t kHeadroom = 64;
// Prompts this long, all together, beside running streams are worth fusing with them.
constexpr std::uint32_t kLongPrompts = 256;
// A change must win back so many times what it costs.
constexpr double kMargin = 2.0;

std::uint32_t part_of(const LayoutFacts& facts, std::uint32_t streams) {
  return facts.cells / streams / facts.multiple * facts.multiple;
}

std::uint32_t needs(const LayoutView& session) {
  return session.tokens + std::min(session.remaining, kForesight) + kHeadroom;
}

std::uint32_t prompt_tokens(const LayoutView& session) {
  const std::uint32_t pending = session.tokens - session.cached;
  return pending > 1 ? pending : 0;
}

}  // namespace

KvShape choose_layout(std::span<const LayoutView> sessions, const LayoutFacts& facts) {
  if (sessions.empty() || facts.foreign_cell_ms <= 0) return facts.foreign_cell_ms <= 0 ? KvShape{} : facts.now;
  std::uint32_t longest = 0, prompts = 0, cached = facts.idle_cells, decoding = 0;
  double tokens = 0;
  for (const LayoutView& session : sessions) {
    const std::uint32_t pending = session.tokens - session.cached;
    longest = std::max(longest, needs(session));
    prompts += prompt_tokens(session);
    cached += session.cached;
    tokens += session.tokens;
    decoding += pending == 1 ? 1 : 0;
  }
  const auto running = static_cast<std::uint32_t>(std::min<std::size_t>(sessions.size(), facts.max_streams));
  // As many parts as the longest leaves room for.
  std::uint32_t streams = facts.max_streams;
  while (streams > running && part_of(facts, streams) < longest) --streams;
  const bool fits = part_of(facts, streams) >= longest;

  if (!facts.now.unified()) {
    const std::uint32_t part = part_of(facts, facts.now.streams);
    const bool outgrown = std::ranges::any_of(sessions, [&](const LayoutView& s) { return s.tokens + 1 >= part; });
    if (outgrown || (facts.now.streams < running && !fits) || (prompts >= kLongPrompts && decoding > 0)) return {};
    if (facts.now.streams < running) return {.streams = streams};
    return facts.now;
  }
  if (!fits || running < 2 || prompts > 0) return facts.now;

  // What each step pays for cells of others, over the steps that all of them will go on for; they grow meanwhile.
  std::uint32_t steps = std::min(kForesight, facts.foresight);
  for (const LayoutView& session : sessions) steps = std::min(steps, std::max(1u, session.remaining));
  const double all = tokens + facts.idle_cells + running * steps / 2.0;
  const double own = (tokens / static_cast<double>(sessions.size()) + steps / 2.0);
  const double gain = steps * running * std::max(0.0, all - own) * facts.foreign_cell_ms;
  const double cost = (facts.made ? facts.make_ms : 0) + cached * facts.move_cell_ms;
  return gain > kMargin * cost ? KvShape{.streams = streams} : facts.now;
}

void QuietTimes::observe(std::span<const LayoutView> sessions) {
  std::uint32_t prompts = 0;
  for (const LayoutView& session : sessions) prompts += prompt_tokens(session);
  if (prompts < kLongPrompts) {
    ++now_;
    return;
  }
  if (now_ > 0) usual_ = std::midpoint(std::min(usual_, kForesight), now_);
  now_ = 0;
}

}  // namespace corral::engine
