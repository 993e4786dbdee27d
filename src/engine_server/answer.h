// Converts engine streams to the parts of responses; answer_stream.h has streamed ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/clock.h"
#include "engine_server/generation.h"
#include "engine_server/signal.h"
#include "protocol/answers/answers.h"
#include "protocol/answers/native.h"

namespace corral::engine_server {

// Costs of a finished request, for counters.
struct RequestRecord {
  std::uint64_t input_tokens = 0;
  std::uint64_t cached_tokens = 0;  // of the input, not computed again
  std::uint64_t output_tokens = 0;
  double first_token_ms = 0;       // from the arrival of the request to the first token, waiting included
  double output_ms = 0;            // from the first token to the last
  std::uint64_t output_steps = 0;  // output tokens in output_ms: all but the first of each answer
  // Sums over all answers: time in prompts, and time from first to last tokens. `longest`: tokens of the longest answer
  // with its prompt.
  double prompt_ms = 0, predicted_ms = 0;
  std::uint64_t longest = 0;
};
using RequestDone = std::function<void(const RequestRecord&)>;

protocol::Timings timings_of(const engine::Usage& usage, const engine::Timings& timings);
// Of a prompt so far.
protocol::Timings timings_of(const engine::PromptProgress& progress);
protocol::PromptProgress progress_of(const engine::PromptProgress& progress);
// "stop" or "length"; an error for a generation that was cut off.
Result<std::string_view> finish_reason_of(const engine::Finish& finish);
// The request's stop string that ended the answer; empty: none (perhaps one of the chat template's).
std::string_view stopping_word(const engine::Finish& finish, std::span<const std::string> stops);

// End of a choice with `native` facts, in llama-server's format; the caller adds the text. An error if the generation
// was cut off.
Result<protocol::NativeAnswer> native_end(const Choice& choice, const engine::Finish& finish);
// The answer as JSON, with the requested members only.
std::string native_text(const NativeFacts& facts, const protocol::NativeAnswer& answer);

// Sums over the answers of one request. Each prompt counts once, however many answers it has.
struct Totals {
  protocol::Usage usage;
  protocol::Timings timings;
  RequestRecord record;  // first_token_ms: the earliest; output_ms: the longest, as they run side by side

  void add(const engine::Finish& finish, bool counts_prompt, MonoClock::duration before_engine);
  // An answer that was not read to its end. `progress`: its latest one; none: it had no token yet, and isn't counted.
  void add_unfinished(const std::optional<engine::Progress>& progress, bool counts_prompt,
                      MonoClock::duration before_engine);
  // Anything was added.
  bool any() const { return any_; }

 private:
  bool any_ = false;
};

// Builds the token list of an answer, without the end token, which is not part of the text.
class LogprobReader {
 public:
  // `shown`: alternatives per token.
  explicit LogprobReader(std::uint32_t shown) : shown_(shown) {}
  void read(std::vector<engine::TokenLogprob> tokens, std::vector<protocol::TokenLogprob>& to);

 private:
  std::uint32_t shown_;
  std::uint32_t text_offset_ = 0;
};

// Complete output of one generation.
struct Collected {
  std::string text;
  std::vector<engine::Token> tokens;
  std::vector<engine::TokenLogprob> logprobs;
  std::optional<engine::Progress> progress;  // as of the last token that was read
  std::optional<engine::Finish> finish;      // none: it still runs
};
struct CollectedAnswers {
  std::vector<Collected> all;  // all have a finish
  Totals totals;
};
// Waits for the end of all choices. Cancelling the task cancels the generations. `signal` must be used by this call
// only. `done` is called once, also if the task is cancelled after the first token.
async::Task<CollectedAnswers> collect(std::span<Choice> choices, std::shared_ptr<Signal> signal,
                                      MonoClock::duration before_engine, RequestDone done);

}  // namespace corral::engine_server
