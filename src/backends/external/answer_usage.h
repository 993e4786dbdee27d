// Reads the numbers of tokens in the answer of an external server while it passes: OpenAI's "usage", or llama-server's
// "timings". Keeps some kilobytes of the answer, however long it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/sse.h"

namespace corral::backends {

class AnswerUsage {
 public:
  // `events`: the answer is a stream of events, else one JSON text.
  explicit AnswerUsage(bool events);
  AnswerUsage(const AnswerUsage&) = delete;
  AnswerUsage& operator=(const AnswerUsage&) = delete;

  void feed(std::string_view bytes);

  struct Tokens {
    std::uint64_t input = 0, output = 0, cached = 0;
    double per_second = 0;  // of the output; 0: unknown
  };
  // Of all bytes so far. A stream without numbers has one token for each event with text.
  Tokens tokens() const;
  // Events with text so far.
  std::uint64_t texts() const { return texts_; }

 private:
  void event(std::string_view data);

  const bool events_;
  http::SseParser parser_;
  std::string head_, tail_;  // of a JSON text
  std::string told_;         // the latest event with numbers
  std::uint64_t texts_ = 0;
};

}  // namespace corral::backends
