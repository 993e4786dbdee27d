// State of a session in its engine worker. Only the decode thread uses it, except SessionShared.
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
#include "engine/kv/media_span.h"
#include "engine/kv/token_table.h"
#include "engine/sample/stop_string_filter.h"
#include "engine/session/stream_state.h"
#include "engine/threads/in_flight.h"
#include "engine/values/options.h"
#include "engine/values/types.h"

namespace corral::engine {

// The part of a session that callers read without waiting for the decode thread.
struct SessionShared {
  SessionShared(SessionId session, std::uint32_t limit, AdapterScales scales = {})
      : id(session), n_ctx(limit), adapters(std::move(scales)) {}

  const SessionId id;
  const std::uint32_t n_ctx;                   // most tokens it may hold
  const AdapterScales adapters;                // scales for this session; empty: those of the load
  std::atomic<std::uint32_t> tokens = 0;       // history, and appended tokens that are not in it yet
  std::atomic<std::uint32_t> generations = 0;  // started and not ended; 2 for a moment when one supersedes another
};

// One generate_stream from its start to its terminal item.
struct Generation {
  std::shared_ptr<StreamState> stream;
  InFlight::Ticket ticket;
  std::unique_ptr<TokenPicker> sampler;
  std::optional<Result<Token>> ahead = {};  // token that it has already picked from the next row of logits
  std::uint32_t max_new_tokens = 0;
  std::uint32_t n_probs = 0;
  bool post_sampling_probs = false;
  bool render_special = false;
  bool report_progress = false;
  bool report_prompt = false;
  Millis max_predict{0};
  std::optional<ContextShift> shift = {};
  std::uint32_t discarded = 0;  // tokens of the history that `shift` discarded
  std::vector<Token> preserved_tokens;
  StopStringFilter filter;
  std::vector<TokenLogprob> held_logprobs;  // of the tokens that `filter` holds back

  std::string client = {};  // client of the request; requests without a name count as one client
  bool background = false;  // others are admitted first
  std::uint64_t order = 0;  // of all generations of the worker: smaller is first (turn_order.h)
  bool began = false;       // it was admitted once
  Usage usage;
  std::uint32_t reported = 0;  // tokens written to the stream
  bool counted = false;        // its prefix hit is in the statistics
  bool was_aside = false;      // its prompt was in the lane; it goes there only once
  bool awaits_lane = false;    // its prompt waits for the lane, which is busy
  bool awaits_media = false;   // it waits for a picture or sound that is being encoded
  MonoTime posted;
  std::optional<MonoTime> first_pass, first_token;
  MonoTime last_token;
};

// State of a session. A generation moves idle → waiting → active → idle. It moves active → waiting if an older
// generation takes its KV cells, and active → paused → waiting if its reader is slow. A long prompt beside running
// streams moves active → aside → active. Waiting sessions are ordered by turn, whatever made them wait.
enum class Phase {
  idle,     // no generation
  waiting,  // has a generation and waits for admission
  active,   // is part of each pass; holds a sequence
  paused,   // its stream is full
  aside,    // its prompt is computed in the lane; has no sequence, but counts as admitted
};

struct Session {
  Session(std::shared_ptr<SessionShared> handle, bool may_share) : shared(std::move(handle)), share(may_share) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Phase phase() const { return phase_; }
  // The next token to compute is one that it sampled.
  bool decoding() const { return pending() == 1 && generation->usage.completion_tokens > 0; }

  std::uint64_t id() const { return shared->id.value(); }
  std::uint32_t pending() const { return static_cast<std::uint32_t>(history.size()) - in_cache; }

  // Pending tokens that the generation computes before it samples or ends. A generation that samples nothing leaves the
  // last token to the next generation, which needs its logits.
  std::uint32_t to_compute() const { return generation->max_new_tokens > 0 ? pending() : std::max(pending(), 1u) - 1; }

  // The picture or sound whose cells are next to be computed; nullptr: a token is.
  MediaSpan* next_media() {
    const std::size_t i = span_behind(media, in_cache);
    return i < media.size() && media[i].begin <= in_cache ? &media[i] : nullptr;
  }
  const MediaSpan* next_media() const { return const_cast<Session*>(this)->next_media(); }
  // Of to_compute(), those that one pass can have: up to the next border between tokens and a picture or sound.
  std::uint32_t to_compute_at_once() const {
    const std::size_t i = span_behind(media, in_cache);
    if (i == media.size()) return to_compute();
    const std::uint32_t border = media[i].begin <= in_cache ? media[i].end() : media[i].begin;
    return std::min(to_compute(), border - in_cache);
  }
  // Frees embeddings whose cells are computed; all: the others too; the encoder provides them again.
  void drop_media_rows(bool all = false) noexcept {
    for (MediaSpan& span : media) {
      if (all || span.end() <= in_cache) span.rows.reset();
    }
  }

  // Most tokens that the generation may still add; 0 without a generation.
  std::uint32_t remaining() const {
    if (!generation) return 0;
    const std::uint32_t room = shared->n_ctx - std::min(shared->n_ctx, shared->tokens.load());
    return std::min(room, generation->max_new_tokens - generation->usage.completion_tokens);
  }

  const std::shared_ptr<SessionShared> shared;
  const bool share;              // shares KV with other sessions; false: only this session uses its parked KV
  std::vector<Token> history;    // everything appended and generated, in order
  std::vector<MediaSpan> media;  // pictures and sounds in it, in order; behind each there is a token
  std::vector<Token> appended;   // appended while a generation ran; follows its tokens
  // Tokens were removed from its middle (context shift). Its cells were computed with another history, so no other
  // session can use them.
  bool shifted = false;
  bool moved = false;          // libllama re-rotates the moved cells in the next pass; they can't be saved before
  bool lost_input = false;     // there was no memory for appended tokens: it can't continue
  std::int32_t sequence = -1;  // KV sequence; -1: none
  std::uint32_t in_cache = 0;  // tokens of the history in the KV cache; 0 without a sequence
  std::uint32_t borrowed = 0;  // of these, tokens shared from another sequence at its start, which need no cells of
                               // their own in a unified layout
  std::uint64_t parked = 0;    // entry of the parked store for this session alone; 0: none
  // A shared pass failed: up to this token the session computes in passes of its own, so that the failing session
  // shows.
  std::uint32_t suspect_until = 0;
  // Reads of parked KV since it last had cells.
  struct Reads {
    std::uint32_t files = 0;        // read for this session
    std::optional<MonoTime> since;  // start of its wait for them
    std::uint64_t ended = 0;        // count of all finished reads when the session last looked for its entry
  };
  Reads reads;
  std::uint64_t last_used = 0;  // pass number: the least recently used session loses its cells first
  std::optional<Generation> generation;
  // Time of the last append, or of the end of its last generation.
  MonoTime touched = MonoClock::now();

 protected:
  Phase phase_ = Phase::idle;  // only SessionTable changes it
};

}  // namespace corral::engine
