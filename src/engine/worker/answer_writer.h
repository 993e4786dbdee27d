// What a generation's reader is told: its answer's text with all that belongs to it, how far its prompt is, how long
// all took. Knows streams and texts, and nothing of places and cells. The decode thread's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/kv/token_table.h"
#include "engine/worker/session.h"

namespace corral::engine {

class AnswerWriter {
 public:
  AnswerWriter(const TokenTable& tokens, std::function<MonoTime()> clock) : tokens_(tokens), clock_(std::move(clock)) {}

  // The text of the token that the session's history ends with, and what can be told now; it is told already.
  // `logits`: those that it was sampled from.
  TextCutter::Cut write(Session& session, const float* logits);
  // Of the latest write().
  const std::string& piece() const { return piece_; }
  // The answer is over: tells what was held back.
  void flush(Session& session) { tell(session, session.generation->cutter.flush()); }
  // So many tokens of the prompt are computed. Not once the answer has begun.
  void tell_prompt(const Session& session, std::uint32_t processed) const;

  static Timings timings(const Generation& generation, MonoTime now);

 private:
  void tell(Session& session, const TextCutter::Cut& cut) const;
  TokenLogprob logprob(Generation& generation, Token token, const float* logits);
  TopToken top_token(Token token, float logprob) const;

  const TokenTable& tokens_;
  const std::function<MonoTime()> clock_;
  std::string piece_;
  std::vector<Token> by_logit_;
};

}  // namespace corral::engine
