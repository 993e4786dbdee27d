// The reading end of one generation.
//
// The decode thread writes, one reader reads. Output is bounded: when EngineLoadOptions::stream_tokens tokens are
// unread, the session pauses (and only this one) until half of them are read. Unread output is joined into one chunk,
// so a slow reader gets fewer and longer chunks.
//
// A stream always is zero or more chunks without `finish`, then exactly one chunk that has only `finish`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

struct TopToken {
  Token token = kNoToken;
  std::string piece;  // its bytes: not always whole characters
  float logprob = 0;
};

// Log probabilities of a token and its alternatives, before or after sampling options changed them
// (GenerateOptions::post_sampling_probs).
struct TokenLogprob : TopToken {
  std::vector<TopToken> top;     // the n_probs most likely ones, most likely first; after sampling perhaps fewer
  bool ends_generation = false;  // end-of-generation token: not part of the text
};

// How a generation ended.
struct Finish {
  FinishReason reason = FinishReason::stop;
  std::string stop_string = {};  // the stop string that matched, if any
  Usage usage = {};
  std::uint32_t discarded = 0;  // tokens discarded by GenerateOptions::shift
  Timings timings = {};
  std::optional<Error> error = {};  // for FinishReason::error and context_full
};

struct StreamChunk {
  std::string text;                    // whole UTF-8 characters; invalid bytes are U+FFFD
  std::vector<Token> tokens;           // the session's history is what was appended plus these, in order
  std::vector<TokenLogprob> logprobs;  // one per token where n_probs > 0
  // Progress of the prompt before the text of this chunk, if GenerateOptions::prompt_progress. Of unread entries the
  // first and the latest are kept; the first of a generation has the number of cached tokens.
  std::vector<PromptProgress> prompt;
  std::optional<Progress> progress;  // with its last token, if GenerateOptions::progress
  std::optional<Finish> finish;      // the terminal item
};

class StreamState;  // shared with the decode thread

// Move-only. Every method may be called on any thread, but by one reader at a time. Outlives the service.
class StreamHandle {
 public:
  StreamHandle() = default;
  explicit StreamHandle(std::shared_ptr<StreamState> state);
  StreamHandle(StreamHandle&&) noexcept;
  StreamHandle& operator=(StreamHandle&&) noexcept;
  ~StreamHandle();  // cancels a generation that still runs; no waker runs after it

  // Waits for the next chunk; none after the terminal item was taken.
  std::optional<StreamChunk> next();
  // Takes what can be read now; none if there is nothing yet, or after the terminal item (see finished()).
  std::optional<StreamChunk> try_next();
  // The terminal item was taken.
  bool finished() const;

  // Called whenever a read that would have returned nothing would now return something: on the decode thread, or at
  // once on this thread if something can be read already. The callback must not block, throw, drop the handle or set
  // another waker; it notifies the reader's own loop. set_waker({}) returns when no call is running.
  void set_waker(std::move_only_function<void()> waker);

  // Called once on the reader's thread: when the terminal item is taken, or when the handle is destroyed before that.
  void when_over(std::move_only_function<void()> over);

  // Ends the generation soon; the terminal item still comes.
  void cancel();

  explicit operator bool() const { return state_ != nullptr; }

 private:
  void leave();
  void call_over();
  std::optional<StreamChunk> taken(std::optional<StreamChunk> chunk);

  std::shared_ptr<StreamState> state_;
  std::move_only_function<void()> over_;
};

}  // namespace corral::engine
