// The answers of POST completion, in llama-server's own shape, which has more than OpenAI's: the settings, the prompt,
// the finish reason. Pure functions and plain values; safe on every thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/answers/answers.h"

namespace corral::protocol {

// One answer, at its end. In a stream without the parts that were already sent.
struct NativeAnswer {
  std::uint32_t index = 0;  // among the request's answers
  std::string content = {};
  std::vector<std::int32_t> tokens = {};
  std::string model = {};
  std::string settings = {};        // JSON text of "generation_settings"
  std::string prompt = {};          // the actual prompt of the model
  bool has_new_line = false;        // in all of the answer
  bool truncated = false;           // the context was full
  std::string_view stop_type = {};  // "eos", "word", "limit"
  std::string stopping_word = {};
  Usage usage = {};
  Timings timings = {};
  std::vector<TokenLogprob> logprobs = {};
  bool has_logprobs = false;
  LogprobShape logprob_shape = LogprobShape::content;
};
std::string native_answer(const NativeAnswer& answer);
// Several answers: a list.
std::string native_answers(std::span<const std::string> answers);

// Selects members of an object; "a/b" is the member b of the object a, under that name. Missing ones are omitted.
// `object` is JSON text.
std::string select_fields(const std::string& object, std::span<const std::string> paths);

// The events of one streamed answer. Immutable after construction.
class NativeWriter {
 public:
  NativeWriter(std::uint32_t index, LogprobShape logprobs, bool with_timings);

  // Each appends one "data: {...}\n\n". `timings` counts tokens up to this event.
  void text(std::string& out, std::string_view text, std::span<const std::int32_t> tokens, const Timings& timings,
            std::span<const TokenLogprob> logprobs = {}) const;
  void progress(std::string& out, const PromptProgress& progress, const Timings& timings) const;
  // `answer` from native_answer(), or from select_fields().
  static void finish(std::string& out, std::string_view answer);

 private:
  LogprobShape logprob_shape_;
  bool with_timings_;
  std::string begin_;  // up to and including "content":
};

}  // namespace corral::protocol
