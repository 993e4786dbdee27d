#include "engine/session/stream_writer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "engine/sample/logprobs.h"

namespace corral::engine {
namespace {

double ms_between(MonoTime from, MonoTime to) { return std::chrono::duration<double, std::milli>(to - from).count(); }

}  // namespace

Timings StreamWriter::timings(const Generation& generation, MonoTime now) {
  Timings t;
  t.queue_ms = ms_between(generation.posted, generation.first_pass.value_or(now));
  if (!generation.first_pass) return t;
  t.prompt_ms = ms_between(*generation.first_pass, generation.first_token.value_or(now));
  if (generation.first_token) t.predicted_ms = ms_between(*generation.first_token, generation.last_token);
  return t;
}

StopStringFilter::Cut StreamWriter::write(Session& session, const float* logits) {
  Generation& generation = *session.generation;
  const Token token = session.history.back();
  if (generation.n_probs > 0) generation.held_logprobs.push_back(logprob(generation, token, logits));
  piece_.clear();
  const bool special = generation.render_special ||
                       std::ranges::find(generation.preserved_tokens, token) != generation.preserved_tokens.end();
  tokens_.append_piece(token, special, piece_);
  StopStringFilter::Cut cut = generation.filter.push(piece_);
  write_text(session, cut);
  return cut;
}

// Writes the text and tokens that the filter released: the oldest ones that it held, at the end of the history.
void StreamWriter::write_text(Session& session, const StopStringFilter::Cut& cut) const {
  if (cut.released == 0 && cut.text.empty()) return;
  Generation& generation = *session.generation;
  const std::size_t held = cut.released + cut.dropped + generation.filter.held();
  const auto first = session.history.end() - static_cast<std::ptrdiff_t>(held);
  StreamChunk chunk;
  chunk.text = cut.text;
  chunk.tokens.assign(first, first + cut.released);
  if (!generation.held_logprobs.empty()) {
    const auto end = generation.held_logprobs.begin() + cut.released;
    chunk.logprobs.assign(std::make_move_iterator(generation.held_logprobs.begin()), std::make_move_iterator(end));
    generation.held_logprobs.erase(generation.held_logprobs.begin(), end);
  }
  if (generation.report_progress) chunk.progress = {generation.usage, timings(generation, clock_())};
  generation.stream->push(std::move(chunk));
  generation.reported += cut.released;
}

void StreamWriter::report_progress(const Session& session, std::uint32_t processed) const {
  const Generation& generation = *session.generation;
  if (!generation.report_prompt || generation.first_token) return;
  StreamChunk chunk;
  chunk.prompt = {{.total = generation.usage.prompt_tokens,
                   .cached = generation.usage.cached_tokens,
                   .processed = processed,
                   .ms = ms_between(*generation.first_pass, clock_())}};
  generation.stream->push(std::move(chunk));
}

TopToken StreamWriter::top_token(Token token, float logprob) const {
  TopToken entry{.token = token, .piece = {}, .logprob = logprob};
  tokens_.append_piece(token, true, entry.piece);
  return entry;
}

TokenLogprob StreamWriter::logprob(Generation& generation, Token token, const float* logits) {
  TokenLogprob result;
  TopToken& chosen = result;
  if (generation.post_sampling_probs) {
    const Drawn drawn = generation.sampler->drawn(generation.n_probs);
    chosen = top_token(token, std::log(drawn.probability));
    for (const TokenProbability& one : drawn.top) result.top.push_back(top_token(one.token, std::log(one.probability)));
  } else {
    const std::span row(logits, tokens_.size());
    most_likely(row, generation.n_probs, by_logit_);
    const float log_sum = log_sum_exp(row, logits[by_logit_.front()]);
    chosen = top_token(token, logits[token] - log_sum);
    for (const Token one : by_logit_) result.top.push_back(top_token(one, logits[one] - log_sum));
  }
  result.ends_generation = tokens_.ends_generation(token);
  return result;
}

}  // namespace corral::engine
