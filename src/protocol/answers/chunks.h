// The events of streamed inference answers. Immutable after construction; safe on every thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/answers/answers.h"

namespace corral::protocol {

// Writes the events of one streamed answer. Their common parts are made once, so that a token costs some string
// appends.
class ChunkWriter {
 public:
  enum class Shape { chat, text };
  // `index`: the answer's place among the request's answers.
  ChunkWriter(Shape shape, const AnswerHead& head, std::uint32_t index = 0,
              LogprobShape logprobs = LogprobShape::content);

  // Each appends one "data: {...}\n\n". `timings` may be null.
  // chat: the first event; `prompt`: known numbers of prompt tokens, may be null.
  void role(std::string& out, const Usage* prompt = nullptr) const;
  void progress(std::string& out, const PromptProgress& progress, const Timings* timings = nullptr) const;
  void delta(std::string& out, const ChatDelta& delta, std::span<const TokenLogprob> logprobs = {},
             const Timings* timings = nullptr) const;
  void text(std::string& out, std::string_view text, std::span<const TokenLogprob> logprobs = {},
            const Timings* timings = nullptr, std::span<const std::int32_t> tokens = {}) const;
  // `logprobs`: of the last tokens without text. `stopping_word`: the request's stop string that ended it.
  void finish(std::string& out, std::string_view reason, std::span<const TokenLogprob> logprobs = {},
              const Timings* timings = nullptr, std::string_view stopping_word = {}) const;
  void usage(std::string& out, const Usage& usage, const Timings* timings = nullptr) const;
  static void done(std::string& out);

 private:
  void close(std::string& out, std::string_view reason, std::span<const TokenLogprob> logprobs, const Timings* timings,
             std::string_view stopping_word = {}) const;

  Shape shape_;
  LogprobShape logprob_shape_;
  std::vector<std::string> warnings_;
  std::string prefix_;  // up to and including "choices":
  std::string begin_;   // prefix_ and the beginning of a choice, up to and including its index
};

}  // namespace corral::protocol
