#include "engine/worker/output_processor.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/schedule/context_shift.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

// A line ends, and max_predict has passed.
bool ends_late(const Generation& generation, std::string_view piece) {
  return generation.max_predict.count() > 0 && piece.contains('\n') &&
         generation.last_token - *generation.first_token > generation.max_predict;
}

}  // namespace

OutputProcessor::OutputProcessor(Parts parts, const WorkerOptions& options)
    : tokens_(parts.tokens),
      clock_(std::move(parts.clock)),
      sessions_(parts.sessions),
      sequences_(parts.sequences),
      kv_(parts.kv),
      writer_(parts.writer),
      finisher_(parts.finisher),
      faults_(parts.faults),
      counters_(parts.counters) {
  ahead_.reserve(options.max_sequences);  // an allocation failure later would have no session to blame
}

// A failing sampler ends its own generation only.
Result<Token> OutputProcessor::choose(Generation& generation, const float* logits) {
  if (generation.ahead) return *std::exchange(generation.ahead, std::nullopt);
  try {
    return generation.sampler->sample(logits);
  } catch (const std::exception& failure) {
    return std::unexpected(worker_failed(failure.what()));
  }
}

void OutputProcessor::choose_ahead(const Pass& pass) {
  const std::int32_t threads = kv_.threads().n_threads;
  if (threads < 2 || pass.items.size() < 2) return;
  ahead_.clear();
  for (const PassItem& item : pass.items) {
    const Generation& generation = *item.session->generation;
    if (item.row < 0 || generation.ahead || !generation.sampler->takes_long()) continue;
    if (const float* const logits = kv_->logits(item.row)) ahead_.push_back({item.session, logits});
  }
  if (ahead_.size() < 2) return;
  pool_.run(static_cast<std::uint32_t>(ahead_.size()), static_cast<std::uint32_t>(threads), [this](std::uint32_t i) {
    Ahead& one = ahead_[i];
    try {
      Result<Token> token = choose(*one.session->generation, one.logits);
      one.session->generation->ahead = std::move(token);
    } catch (...) {
      one.thrown = std::current_exception();
    }
  });
  for (const Ahead& one : ahead_) {
    if (!one.thrown) continue;
    faults_.session = one.session;
    std::rethrow_exception(one.thrown);
  }
}

void OutputProcessor::take(const Pass& pass, const PassItem& item) {
  Session& session = *item.session;
  Usage& usage = session.generation->usage;
  usage.drafted_tokens += item.drafted;
  std::uint32_t accepted = 0;
  for (std::uint32_t i = 0; i <= item.drafted; ++i) {
    const float* const logits = kv_->logits(item.row + static_cast<std::int32_t>(i));
    if (logits == nullptr) {
      finisher_.finish(session, FinishReason::error, Error(errc::decode_failed, "libllama gave no logits"));
      break;
    }
    const Result<Token> token = choose(*session.generation, logits);
    if (!token) {
      finisher_.finish(session, FinishReason::error, token.error());
      break;
    }
    const bool right = i < item.drafted && *token == pass.drafts[item.first_draft + i].token;
    if (right) {
      ++accepted;
      ++usage.accepted_tokens;
    }
    const bool goes_on = on_token(session, *token, logits);
    // Ended, or paused for its reader: further draft tokens are dropped.
    if (!goes_on || !right || session.phase() != Phase::active) break;
    sequences_.computed(session, session.in_cache + 1);
  }
  if (item.drafted + item.padding == 0) return;
  if (item.drafted > 0) ++counters_.drafts;
  counters_.drafted_tokens += item.drafted;
  counters_.accepted_tokens += accepted;
  if (session.sequence >= 0) sequences_.discard_behind(session);
}

// The context is full: true if a shift has made space.
bool OutputProcessor::shift(Session& session) {
  Generation& generation = *session.generation;
  if (!generation.shift || session.sequence < 0) return false;
  const auto cached = static_cast<std::uint32_t>(session.history.size()) - 1;
  const auto held = static_cast<std::uint32_t>(generation.filter.held());
  auto cut = context_cut(
      *generation.shift,
      {.cached = cached, .n_ctx = session.shared->n_ctx, .prompt = generation.usage.prompt_tokens, .held = held});
  if (cut) cut = around_media(*cut, session.media, cached - std::min(cached, std::max(1u, held)));
  if (!cut || !sequences_.shift(session, *cut)) return false;
  session.shared->tokens -= cut->discard;
  generation.discarded += cut->discard;
  return true;
}

bool OutputProcessor::on_token(Session& session, Token token, const float* logits) {
  Generation& generation = *session.generation;
  const MonoTime before = std::exchange(generation.last_token, clock_());
  if (generation.first_token) {
    counters_.inter_token_seconds.observe(seconds_between(before, generation.last_token));
  } else {
    generation.first_token = generation.last_token;
    counters_.first_token_seconds.observe(seconds_between(generation.posted, generation.last_token));
  }
  session.history.push_back(token);
  // Includes tokens appended meanwhile.
  const std::uint32_t held = ++session.shared->tokens;
  ++generation.usage.completion_tokens;
  ++counters_.predicted_tokens;
  StopStringFilter::Cut cut = writer_.write(session, logits);
  if (cut.stopped) {
    session.history.resize(session.history.size() - cut.dropped);
    session.shared->tokens -= cut.dropped;
    sequences_.trim(session, static_cast<std::uint32_t>(session.history.size()));
    generation.held_logprobs.clear();
    finisher_.finish(session, FinishReason::stop, std::nullopt, std::move(cut.stop));
  } else if (tokens_.ends_generation(token)) {
    finisher_.finish(session, FinishReason::stop);
  } else if (generation.usage.completion_tokens >= generation.max_new_tokens ||
             ends_late(generation, writer_.piece())) {
    finisher_.finish(session, FinishReason::length);
  } else if (held >= session.shared->n_ctx && shift(session)) {
    if (generation.stream->full()) sessions_.pause(session);
    return false;
  } else if (held >= session.shared->n_ctx) {
    finisher_.finish(session, FinishReason::context_full,
                     context_full({.needed = std::uint64_t{held} + 1, .n_past = held, .n_ctx = session.shared->n_ctx}));
  } else if (generation.stream->full()) {
    sessions_.pause(session);  // other sessions may take its sequence and cells
  }
  return true;
}

}  // namespace corral::engine
