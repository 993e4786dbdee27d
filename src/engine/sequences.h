// Who holds which KV sequence: hands out ids, shares prefixes, takes back what is needed most cheaply. One thread.
//
// Order of taking back: kept prefixes of ended sessions, then sessions that don't run (idle, paused), least recently
// used first. A session that loses its cells keeps its tokens and computes them again when it runs next.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/context.h"
#include "engine/prefix_cache.h"
#include "engine/session.h"

namespace corral::engine {

class Sequences {
 public:
  // prefix_tokens: most tokens of ended sessions to keep; 0: no sharing at all.
  Sequences(Context& context, bool can_share, std::uint32_t prefix_tokens);

  void add(Session& session) { sessions_.push_back(&session); }
  // The session ends: its cells are kept as a prefix or freed.
  void remove(Session& session);

  // Gives the session a sequence if it has none, with as many of its tokens in it as others have computed already.
  // False if every id belongs to a running session.
  bool attach(Session& session);
  // Takes the session's cells away.
  void detach(Session& session);
  // The cache holds `tokens` of the session's history from now on, as libllama computed them.
  void computed(Session& session, std::uint32_t tokens);
  // Cuts the session's cells back to at most `tokens`; fewer where the memory can't do it exactly.
  void trim(Session& session, std::uint32_t tokens);
  // After a pass that ended halfway: asks libllama how many tokens there really are.
  void resync(Session& session);

  // Makes room at the cost of somebody who doesn't run. False if nobody is left.
  bool reclaim();

  std::uint32_t used_cells() const { return in_sessions_ + prefixes_.tokens(); }
  std::size_t kept_prefixes() const { return prefixes_.size(); }

  // Sharing fewer tokens than this isn't worth scanning the cells for.
  static constexpr std::uint32_t kLeastShared = 8;

 private:
  void share_prefix(Session& session);
  void free_id(std::int32_t sequence);
  void set_cached(Session& session, std::uint32_t tokens);

  Context& context_;
  const bool can_share_;
  PrefixCache prefixes_;
  std::vector<std::int32_t> free_ids_;  // smallest last
  std::vector<Session*> sessions_;
  std::uint32_t in_sessions_ = 0;  // sum of Session::in_cache
};

}  // namespace corral::engine
