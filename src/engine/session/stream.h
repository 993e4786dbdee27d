// The reading end of one generation.
//
// The decode thread writes, one reader reads. Output is bounded: when EngineLoadOptions::stream_tokens tokens are
// unread, the session pauses (and only this one) until half of them are read. What is unread is joined into one chunk,
// so a slow reader gets fewer, longer chunks.
//
// A stream is zero or more chunks without `finish`, then exactly one with it (and nothing else in it), whatever
// happens.
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

// The probabilities of a token and of its rivals, before or after sampling options changed them
// (GenerateOptions::post_sampling_probs).
struct TokenLogprob : TopToken {
  std::vector<TopToken> top;     // the n_probs most likely ones, most likely first; after sampling perhaps fewer
  bool ends_generation = false;  // the model's own end: no part of the answer
};

// How a generation ended.
struct Finish {
  FinishReason reason = FinishReason::stop;
  std::string stop_string = {};  // the one that was met, if one was
  Usage usage = {};
  std::uint32_t discarded = 0;  // tokens that went for GenerateOptions::shift
  Timings timings = {};
  std::optional<Error> error = {};  // for FinishReason::error and context_full
};

struct StreamChunk {
  std::string text;                    // whole UTF-8 characters; invalid bytes are U+FFFD
  std::vector<Token> tokens;           // the session's history is what was appended plus these, in order
  std::vector<TokenLogprob> logprobs;  // one per token where n_probs > 0
  // How far the prompt was before the text of this chunk; if GenerateOptions::prompt_progress. Of what is unread the
  // first (a generation's first tells what was there already) and the latest.
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

  // Waits for the next chunk; nothing after the terminal item was taken.
  std::optional<StreamChunk> next();
  // Takes what is there; nothing if there is nothing (yet, or any more: see finished()).
  std::optional<StreamChunk> try_next();
  // The terminal item was taken.
  bool finished() const;

  // Called whenever a read that would have found nothing would now find something: on the decode thread, or at once on
  // this one if something can be read already. It must not block, throw, drop the handle or set another waker: it tells
  // the reader's own loop. set_waker({}) returns when no call is running.
  void set_waker(std::move_only_function<void()> waker);

  // Called once on the reader's thread: when the terminal item is taken, or when the handle goes before that.
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
