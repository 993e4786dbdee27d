// Writes the chunks of a generation to its stream: text, tokens, log probabilities, prompt progress, times. On the
// decode thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/kv/token_table.h"
#include "engine/session/session.h"

namespace corral::engine {

class StreamWriter {
 public:
  StreamWriter(const TokenTable& tokens, std::function<MonoTime()> clock) : tokens_(tokens), clock_(std::move(clock)) {}

  // Writes the text of the last token in the session's history, as far as the stop string filter releases it. `logits`:
  // those that the token was sampled from.
  StopStringFilter::Cut write(Session& session, const float* logits);
  // Text of the token of the latest write().
  const std::string& piece() const { return piece_; }
  // The generation is over: writes the text that was held back.
  void flush(Session& session) { write_text(session, session.generation->filter.flush()); }
  // Reports prompt progress: `processed` tokens are computed. Not after the first token of the answer.
  void report_progress(const Session& session, std::uint32_t processed) const;

  static Timings timings(const Generation& generation, MonoTime now);

 private:
  void write_text(Session& session, const StopStringFilter::Cut& cut) const;
  TokenLogprob logprob(Generation& generation, Token token, const float* logits);
  TopToken top_token(Token token, float logprob) const;

  const TokenTable& tokens_;
  const std::function<MonoTime()> clock_;
  std::string piece_;
  std::vector<Token> by_logit_;
};

}  // namespace corral::engine
