#include "engine/sequences.h"

#include <algorithm>

namespace corral::engine {

Sequences::Sequences(Context& context, bool can_share, std::uint32_t prefix_tokens)
    : context_(context), can_share_(can_share && prefix_tokens > 0), prefixes_(can_share ? prefix_tokens : 0) {
  for (auto id = static_cast<std::int32_t>(context.sequence_ids()); id-- > 0;) free_ids_.push_back(id);
}

void Sequences::set_cached(Session& session, std::uint32_t tokens) {
  in_sessions_ += tokens - session.in_cache;
  session.in_cache = tokens;
}

void Sequences::free_id(std::int32_t sequence) {
  context_.clear(sequence);
  // The smallest ids are used first: fewer distinct ones in a pass.
  free_ids_.insert(std::ranges::lower_bound(free_ids_, sequence, std::greater<>{}), sequence);
}

void Sequences::remove(Session& session) {
  std::erase(sessions_, &session);
  if (session.sequence < 0) return;
  if (session.in_cache < kLeastShared) {
    detach(session);
    return;
  }
  std::vector<Token> tokens(session.history.begin(), session.history.begin() + session.in_cache);
  const std::int32_t sequence = session.sequence;
  set_cached(session, 0);
  session.sequence = -1;
  for (const std::int32_t freed : prefixes_.add(sequence, std::move(tokens))) free_id(freed);
}

bool Sequences::attach(Session& session) {
  if (session.sequence >= 0) return true;
  while (free_ids_.empty()) {
    if (!reclaim()) return false;
  }
  session.sequence = free_ids_.back();
  free_ids_.pop_back();
  if (can_share_) share_prefix(session);
  return true;
}

void Sequences::share_prefix(Session& session) {
  // The last token is always computed: its logits are what the session is here for.
  const std::span<const Token> wanted(session.history.data(), session.history.size() - 1);
  PrefixCache::Match best = prefixes_.best(wanted);
  for (const Session* other : sessions_) {
    if (other == &session || other->in_cache <= best.length) continue;
    const std::uint32_t shared = common_prefix(std::span(other->history).first(other->in_cache), wanted);
    if (shared > best.length) best = {other->sequence, shared};
  }
  if (best.length < kLeastShared) return;
  context_.share(best.sequence, session.sequence, best.length);
  set_cached(session, best.length);
}

void Sequences::detach(Session& session) {
  if (session.sequence < 0) return;
  free_id(session.sequence);
  session.sequence = -1;
  set_cached(session, 0);
}

void Sequences::computed(Session& session, std::uint32_t tokens) { set_cached(session, tokens); }

void Sequences::trim(Session& session, std::uint32_t tokens) {
  if (session.in_cache <= tokens) return;
  set_cached(session, context_.trim(session.sequence, tokens) ? tokens : 0);
}

void Sequences::resync(Session& session) {
  if (session.sequence < 0) return;
  const std::uint32_t there = context_.length(session.sequence);
  const auto most = static_cast<std::uint32_t>(session.history.size()) - 1;  // one must stay pending
  set_cached(session, there);
  // A pass that stopped halfway leaves a recurrent state that no position tells anything about: compute it anew.
  if (context_.recurrent()) {
    trim(session, 0);
  } else if (there > most) {
    trim(session, most);
  }
}

bool Sequences::reclaim() {
  if (const auto oldest = prefixes_.evict()) {
    free_id(*oldest);
    return true;
  }
  Session* victim = nullptr;
  for (Session* session : sessions_) {
    if (session->sequence < 0 || session->phase == Phase::active) continue;
    if (victim == nullptr || session->last_used < victim->last_used) victim = session;
  }
  if (victim == nullptr) return false;
  detach(*victim);
  return true;
}

}  // namespace corral::engine
