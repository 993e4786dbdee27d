// What a sampled token means to its session, and the end of a generation.
#include <algorithm>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "engine/values/errors.h"
#include "engine/worker/worker_core.h"

namespace corral::engine {
namespace {

// Enough to make others be preferred, little enough that it is tried again beside busy ones.
constexpr std::uint32_t kMostFailures = 8;

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
  TextCutter::Cut cut = writer_.write(session, logits);
  if (cut.stopped) {
    session.history.resize(session.history.size() - cut.dropped);
    session.shared->tokens -= cut.dropped;
    sequences_.trim(session, static_cast<std::uint32_t>(session.history.size()));
    generation.held_logprobs.clear();
    finish(session, StopReason::stop, std::nullopt, std::move(cut.stop));
  } else if (tokens_.ends_generation(token)) {
    finish(session, StopReason::stop);
  } else if (generation.usage.completion_tokens >= generation.max_new_tokens ||
             ends_late(generation, writer_.piece())) {
    finish(session, StopReason::length);
  } else if (held >= session.shared->n_ctx) {
    finish(session, StopReason::context_full,
           context_full({.needed = std::uint64_t{held} + 1, .n_past = held, .n_ctx = session.shared->n_ctx}));
  } else if (generation.stream->full()) {
    roster_.pause(session);  // the others get its place, and its cells if they need them
  }
}

// What a client ends says nothing about the worker.
void WorkerCore::count_end(StopReason reason) {
  if (reason == StopReason::stop || reason == StopReason::length) failed_in_row_ = 0;
  if (reason == StopReason::error && failed_in_row_ < kMostFailures) ++failed_in_row_;
}

// The one way a generation ends, but for what nobody foresaw (end_failed).
void WorkerCore::finish(Session& session, StopReason reason, std::optional<Error> error, std::string stop_string) {
  Session* const hand = std::exchange(in_hand_, &session);
  writer_.flush(session);
  if (session.phase() == Phase::aside) give_up_lane(session);
  roster_.rest(session);
  roster_.use(session);
  session.suspect_until = 0;
  sequences_.settle(session);
  // Behind this nothing can fail: end_failed would take it for what the stream wasn't told.
  session.history.insert(session.history.end(), session.appended.begin(), session.appended.end());
  session.appended.clear();
  count_end(reason);
  end(session, {.reason = reason, .stop_string = std::move(stop_string), .error = std::move(error)});
  in_hand_ = hand == &session ? nullptr : hand;
}

void WorkerCore::end(Session& session, Finish finish) noexcept {
  Generation& generation = *session.generation;
  session.touched = clock_();
  finish.usage = generation.usage;
  finish.timings = AnswerWriter::timings(generation, clock_());
  const std::shared_ptr<StreamState> stream = std::move(generation.stream);
  InFlight::Ticket ticket = std::move(generation.ticket);
  session.generation.reset();
  // Before the reader can know: it may start the next generation at once.
  --session.shared->generations;
  ticket.release();
  stream->finish(std::move(finish));
}

}  // namespace corral::engine
