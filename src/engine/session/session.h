// What a worker knows about a session. Owned and touched by the decode thread only, except for SessionShared.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/kv/token_table.h"
#include "engine/sample/stop_string_filter.h"
#include "engine/session/stream_state.h"
#include "engine/threads/in_flight.h"
#include "engine/values/options.h"
#include "engine/values/types.h"

namespace corral::engine {

// The little of a session that its callers ask about without waiting for the decode thread.
struct SessionShared {
  SessionShared(SessionId session, std::uint32_t limit, AdapterScales scales = {})
      : id(session), n_ctx(limit), adapters(std::move(scales)) {}

  const SessionId id;
  const std::uint32_t n_ctx;                   // most tokens it may hold
  const AdapterScales adapters;                // that it is computed with; empty: as the load says
  std::atomic<std::uint32_t> tokens = 0;       // history, and what was appended but not taken over yet
  std::atomic<std::uint32_t> generations = 0;  // started and not ended yet; 2 for a moment when one supersedes another
};

// One generate_stream from its start to its terminal item.
struct Generation {
  std::shared_ptr<StreamState> stream;
  InFlight::Ticket ticket;
  std::unique_ptr<TokenPicker> sampler;
  std::optional<Result<Token>> ahead = {};  // what it picked already, for the next row of logits
  std::uint32_t max_new_tokens = 0;
  std::uint32_t n_probs = 0;
  bool post_sampling_probs = false;
  bool render_special = false;
  bool report_progress = false;
  bool report_prompt = false;
  Millis max_predict{0};
  std::optional<ContextShift> shift = {};
  std::uint32_t discarded = 0;  // tokens of the history, for that
  std::vector<Token> preserved_tokens;
  StopStringFilter filter;
  std::vector<TokenLogprob> held_logprobs;  // of the tokens the cutter holds

  std::string client = {};  // whose it is; those that say nothing are one client's
  bool background = false;  // it may wait for others
  std::uint64_t order = 0;  // of all generations of the worker: smaller goes first (turn_order.h)
  bool began = false;       // it has had a place
  Usage usage;
  std::uint32_t reported = 0;  // tokens that the stream has been given
  bool counted = false;        // what it found in cells when it came is in the statistics
  bool was_aside = false;      // its prompt has been in the lane, once is enough
  bool awaits_lane = false;    // its prompt is for the lane, which another has
  MonoTime posted;
  std::optional<MonoTime> first_pass, first_token;
  MonoTime last_token;
};

// Where a session stands. A generation moves idle → waiting → active → idle; when its KV cells are taken away for an
// older one it goes active → waiting, when its reader is slow active → paused → waiting. A long prompt beside running
// streams goes active → aside → active. Who waits stands by age, however he came there.
enum class Phase {
  idle,     // no generation
  waiting,  // has a generation, wants a place in the pass
  active,   // is part of each pass; holds a sequence
  paused,   // its stream is full
  aside,    // its prompt is computed in the lane; holds no sequence, but a place
};

struct Session {
  Session(std::shared_ptr<SessionShared> handle, bool may_share) : shared(std::move(handle)), share(may_share) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Phase phase() const { return phase_; }
  // What it computes next is a token that it sampled.
  bool decoding() const { return pending() == 1 && generation->usage.completion_tokens > 0; }

  std::uint64_t id() const { return shared->id.value(); }
  std::uint32_t pending() const { return static_cast<std::uint32_t>(history.size()) - in_cache; }

  // Of these, the ones that its generation computes before it samples or ends: one that samples nothing leaves the last
  // token to whoever goes on, who computes it for its logits.
  std::uint32_t to_compute() const { return generation->max_new_tokens > 0 ? pending() : std::max(pending(), 1u) - 1; }

  // Most tokens its generation will still add; 0 without one.
  std::uint32_t remaining() const {
    if (!generation) return 0;
    const std::uint32_t room = shared->n_ctx - std::min(shared->n_ctx, shared->tokens.load());
    return std::min(room, generation->max_new_tokens - generation->usage.completion_tokens);
  }

  const std::shared_ptr<SessionShared> shared;
  const bool share;             // takes KV over from others and leaves it to them; else what is parked of it is its own
  std::vector<Token> history;   // everything appended and generated, in order
  std::vector<Token> appended;  // came while a generation ran; goes behind it
  // Tokens went out of its middle: what it has in cells is what came of another history, and nobody else's.
  bool shifted = false;
  bool moved = false;          // and libllama turns those behind them with the next pass only: they can't be saved
  bool lost_input = false;     // there was no memory for what was appended: it can't go on
  std::int32_t sequence = -1;  // KV sequence; -1: none
  std::uint32_t in_cache = 0;  // so many tokens of the history are in the KV cache; 0 without a sequence
  std::uint32_t borrowed = 0;  // of these, so many were another's when it came and needed no cells in a pool
  std::uint64_t parked = 0;    // what the store of parked KV keeps for this session alone; 0: nothing
  // A pass with others failed: up to here its history is computed in passes of its own, so that the one to blame shows.
  std::uint32_t suspect_until = 0;
  // Since it had cells.
  struct Reads {
    std::uint32_t files = 0;        // that were read for it
    std::optional<MonoTime> since;  // it waits for them
    std::uint64_t ended = 0;        // so many had been read, for anybody, when it was last looked for what it needs
  };
  Reads reads;
  std::uint64_t last_used = 0;  // pass number: who goes first when cells are needed
  std::optional<Generation> generation;
  // When somebody last appended to it, or its generation ended.
  MonoTime touched = MonoClock::now();

 protected:
  Phase phase_ = Phase::idle;  // only SessionTable changes it
};

}  // namespace corral::engine
