// From a sampled token to the stream's reader, and the end of a generation.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "engine/sample/logprobs.h"
#include "engine/values/errors.h"
#include "engine/worker/worker_core.h"

namespace corral::engine {
namespace {

// Enough to make others be preferred, little enough that it is tried again beside busy ones.
constexpr std::uint32_t kMostFailures = 8;

double ms_between(MonoTime from, MonoTime to) { return std::chrono::duration<double, std::milli>(to - from).count(); }

Timings timings(const Generation& generation, MonoTime now) {
  Timings t;
  t.queue_ms = ms_between(generation.posted, generation.first_pass.value_or(now));
  if (!generation.first_pass) return t;
  t.prompt_ms = ms_between(*generation.first_pass, generation.first_token.value_or(now));
  if (generation.first_token) t.predicted_ms = ms_between(*generation.first_token, generation.last_token);
  return t;
}

// A line ends, and the time for the answer is over.
bool ends_late(const Generation& generation, std::string_view piece) {
  return generation.max_predict.count() > 0 && piece.contains('\n') &&
         generation.last_token - *generation.first_token > generation.max_predict;
}

}  // namespace

// What goes wrong in a sampler concerns nobody else.
Result<Token> WorkerCore::sample(Generation& generation, const float* logits) {
  if (generation.ahead) return *std::exchange(generation.ahead, std::nullopt);
  try {
    return generation.sampler->sample(logits);
  } catch (const std::exception& failure) {
    return std::unexpected(worker_failed(failure.what()));
  }
}

// Where choosing takes long, several sessions choose at the same time. What one has chosen is kept with its generation:
// should the worker start afresh before it is told, the same place isn't sampled twice.
void WorkerCore::sample_ahead(std::span<const PassItem> items) {
  ahead_.clear();
  if (given_.n_threads < 2) return;
  for (const PassItem& item : items) {
    const Generation& generation = *item.session->generation;
    if (item.row < 0 || generation.ahead || !generation.sampler->takes_long()) continue;
    if (const float* const logits = memory_->logits(item.row)) ahead_.push_back({item.session, logits});
  }
  if (ahead_.size() < 2) return;
  const auto threads = static_cast<std::uint32_t>(given_.n_threads);
  team_.run(static_cast<std::uint32_t>(ahead_.size()), threads, [this](std::uint32_t i) {
    Ahead& one = ahead_[i];
    try {
      Result<Token> token = sample(*one.session->generation, one.logits);
      one.session->generation->ahead = std::move(token);
    } catch (...) {
      one.thrown = std::current_exception();
    }
  });
  for (const Ahead& one : ahead_) {
    if (!one.thrown) continue;
    in_hand_ = one.session;
    std::rethrow_exception(one.thrown);
  }
}

void WorkerCore::on_token(Session& session, Token token, const float* logits) {
  Generation& generation = *session.generation;
  const MonoTime before = std::exchange(generation.last_token, clock_());
  if (generation.first_token) {
    counters_.inter_token_seconds.observe(seconds_between(before, generation.last_token));
  } else {
    generation.first_token = generation.last_token;
    counters_.first_token_seconds.observe(seconds_between(generation.posted, generation.last_token));
  }
  session.history.push_back(token);
  // With what was appended meanwhile.
  const std::uint32_t held = ++session.shared->tokens;
  ++generation.usage.completion_tokens;
  ++counters_.predicted_tokens;
  if (generation.n_probs > 0) generation.held_logprobs.push_back(logprob(generation, token, logits));

  piece_.clear();
  const bool special = generation.render_special ||
                       std::ranges::find(generation.preserved_tokens, token) != generation.preserved_tokens.end();
  tokens_.append_piece(token, special, piece_);
  TextCutter::Cut cut = generation.cutter.push(piece_);
  release(session, cut);
  if (cut.stopped) {
    session.history.resize(session.history.size() - cut.dropped);
    session.shared->tokens -= cut.dropped;
    sequences_.trim(session, static_cast<std::uint32_t>(session.history.size()));
    generation.held_logprobs.clear();
    finish(session, StopReason::stop, std::nullopt, std::move(cut.stop));
  } else if (tokens_.ends_generation(token)) {
    finish(session, StopReason::stop);
  } else if (generation.usage.completion_tokens >= generation.max_new_tokens || ends_late(generation, piece_)) {
    finish(session, StopReason::length);
  } else if (held >= session.shared->n_ctx) {
    finish(session, StopReason::context_full,
           context_full({.needed = std::uint64_t{held} + 1, .n_past = held, .n_ctx = session.shared->n_ctx}));
  } else if (generation.stream->full()) {
    pause(session);
  }
}

// Gives out the text and the tokens the cutter let go: they are the oldest ones it held, at the end of the history.
void WorkerCore::release(Session& session, const TextCutter::Cut& cut) {
  if (cut.released == 0 && cut.text.empty()) return;
  Generation& generation = *session.generation;
  const std::size_t held = cut.released + cut.dropped + generation.cutter.held();
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

// Of a session whose answer hasn't begun.
void WorkerCore::tell_prompt(const Session& session, std::uint32_t processed) {
  const Generation& generation = *session.generation;
  if (!generation.report_prompt || generation.first_token) return;
  StreamChunk chunk;
  chunk.prompt = {{.total = generation.usage.prompt_tokens,
                   .cached = generation.usage.cached_tokens,
                   .processed = processed,
                   .ms = ms_between(*generation.first_pass, clock_())}};
  generation.stream->push(std::move(chunk));
}

// What a client ends says nothing about the worker.
void WorkerCore::count_end(StopReason reason) {
  if (reason == StopReason::stop || reason == StopReason::length) failed_in_row_ = 0;
  if (reason == StopReason::error && failed_in_row_ < kMostFailures) ++failed_in_row_;
}

// The one way a generation ends, but for what nobody foresaw (end_failed).
void WorkerCore::finish(Session& session, StopReason reason, std::optional<Error> error, std::string stop_string) {
  Session* const hand = std::exchange(in_hand_, &session);
  Generation& generation = *session.generation;
  release(session, generation.cutter.flush());
  leave_queue(session);
  session.last_used = pass_;
  session.suspect_until = 0;
  sequences_.settle(session);
  // Behind this nothing can fail: end_failed would take it for what the stream wasn't told.
  session.history.insert(session.history.end(), session.appended.begin(), session.appended.end());
  session.appended.clear();
  starved_ = nullptr;  // its cells can be had now
  count_end(reason);
  end(session, {.reason = reason, .stop_string = std::move(stop_string), .error = std::move(error)});
  in_hand_ = hand == &session ? nullptr : hand;
}

void WorkerCore::end(Session& session, Finish finish) noexcept {
  Generation& generation = *session.generation;
  session.touched = clock_();
  finish.usage = generation.usage;
  finish.timings = timings(generation, clock_());
  const std::shared_ptr<StreamState> stream = std::move(generation.stream);
  InFlight::Ticket ticket = std::move(generation.ticket);
  session.generation.reset();
  // Before the reader can know: it may start the next generation at once.
  --session.shared->generations;
  ticket.release();
  stream->finish(std::move(finish));
}

void WorkerCore::leave_queue(Session& session) {
  switch (std::exchange(session.phase, Phase::idle)) {
    case Phase::idle:
      break;
    case Phase::waiting:
      std::erase(waiting_, &session);
      break;
    case Phase::active:
      std::erase(active_, &session);
      break;
    case Phase::paused:
      std::erase(paused_, &session);
      break;
    case Phase::aside:
      give_up_lane();
      break;
  }
}

// Its reader is slow: the others get its place, and its cells if they need them.
void WorkerCore::pause(Session& session) {
  leave_queue(session);
  session.phase = Phase::paused;
  paused_.push_back(&session);
  starved_ = nullptr;
}

TopToken WorkerCore::top_token(Token token, float logprob) const {
  TopToken entry{.token = token, .piece = {}, .logprob = logprob};
  tokens_.append_piece(token, true, entry.piece);
  return entry;
}

TokenLogprob WorkerCore::logprob(Generation& generation, Token token, const float* logits) {
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
