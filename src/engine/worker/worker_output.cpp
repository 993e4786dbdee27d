// What a sampled token means to its session.
#include <algorithm>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "engine/values/errors.h"
#include "engine/worker/worker_core.h"

namespace corral::engine {
namespace {

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
  if (keeper_.threads().n_threads < 2) return;
  for (const PassItem& item : items) {
    const Generation& generation = *item.session->generation;
    if (item.row < 0 || generation.ahead || !generation.sampler->takes_long()) continue;
    if (const float* const logits = keeper_->logits(item.row)) ahead_.push_back({item.session, logits});
  }
  if (ahead_.size() < 2) return;
  const auto threads = static_cast<std::uint32_t>(keeper_.threads().n_threads);
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
    hand_.session = one.session;
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
    endings_.finish(session, StopReason::stop, std::nullopt, std::move(cut.stop));
  } else if (tokens_.ends_generation(token)) {
    endings_.finish(session, StopReason::stop);
  } else if (generation.usage.completion_tokens >= generation.max_new_tokens ||
             ends_late(generation, writer_.piece())) {
    endings_.finish(session, StopReason::length);
  } else if (held >= session.shared->n_ctx) {
    endings_.finish(session, StopReason::context_full,
                    context_full({.needed = std::uint64_t{held} + 1, .n_past = held, .n_ctx = session.shared->n_ctx}));
  } else if (generation.stream->full()) {
    roster_.pause(session);  // the others get its place, and its cells if they need them
  }
}

}  // namespace corral::engine
