// Turning what the engine streams into the parts of answers; streamed answers are in answer_stream.h.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/clock.h"
#include "engine_server/generation.h"
#include "engine_server/signal.h"
#include "protocol/answers.h"
#include "protocol/native.h"

namespace corral::engine_server {

// What a finished request cost; for whoever counts.
struct RequestRecord {
  std::uint64_t input_tokens = 0;
  std::uint64_t cached_tokens = 0;  // of the input, not computed again
  std::uint64_t output_tokens = 0;
  double first_token_ms = 0;       // from the arrival of the request to the first token, waiting included
  double output_ms = 0;            // from the first token to the last
  std::uint64_t output_steps = 0;  // output tokens that came in it: all but the first of each answer
  // Of all answers together: time in prompts and from first tokens to last ones; and the tokens of the longest of them
  // with its prompt.
  double prompt_ms = 0, predicted_ms = 0;
  std::uint64_t longest = 0;
};
using RequestDone = std::function<void(const RequestRecord&)>;

protocol::Timings timings_of(const engine::Usage& usage, const engine::Timings& timings);
protocol::PromptProgress progress_of(const engine::PromptProgress& progress);
// "stop" or "length"; an error for a generation that was cut off.
Result<std::string_view> finish_reason_of(const engine::Finish& finish);
// Which of the request's own stop strings ended it; empty: none (perhaps one of the chat template's).
std::string_view stopping_word(const engine::Finish& finish, std::span<const std::string> stops);

// What the end of a choice with `native` facts says in llama-server's own shape; the text is the caller's. An error for
// one that was cut off.
Result<protocol::NativeAnswer> native_end(const Choice& choice, const engine::Finish& finish);
// As JSON, only the members that were asked for.
std::string native_text(const NativeFacts& facts, const protocol::NativeAnswer& answer);

// What the answers to one request add up to. Prompts count once, however many answers they have.
struct Totals {
  protocol::Usage usage;
  protocol::Timings timings;
  RequestRecord record;  // first_token_ms: the earliest; output_ms: the longest, as they run side by side

  void add(const engine::Finish& finish, bool counts_prompt, MonoClock::duration before_engine);

 private:
  bool any_ = false;
};

// Makes the list of an answer's tokens, all but its end, which is no part of the text.
class LogprobReader {
 public:
  // `shown`: so many alternatives of each.
  explicit LogprobReader(std::uint32_t shown) : shown_(shown) {}
  void read(std::vector<engine::TokenLogprob> tokens, std::vector<protocol::TokenLogprob>& to);

 private:
  std::uint32_t shown_;
  std::uint32_t text_offset_ = 0;
};

// Everything one generation gave.
struct Collected {
  std::string text;
  std::vector<engine::Token> tokens;
  std::vector<engine::TokenLogprob> logprobs;
  engine::Finish finish;
};
// Waits for the ends of all. Cancelling the task cancels the generations. `signal` must be theirs alone.
async::Task<std::vector<Collected>> collect(std::span<Choice> choices, std::shared_ptr<Signal> signal);

}  // namespace corral::engine_server
