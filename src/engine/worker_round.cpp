// One round of a worker: who gets a place, what goes into the pass, what to do when it doesn't work out.
#include <algorithm>
#include <chrono>

#include "engine/errors.h"
#include "engine/worker.h"

namespace corral::engine {

void Worker::resume_paused() {
  std::erase_if(paused_, [this](Session* session) {
    if (session->generation->stream->full()) return false;
    session->phase = Phase::waiting;
    waiting_.push_back(session);
    return true;
  });
}

void Worker::admit() {
  if (active_.empty()) starved_ = false;
  while (!starved_ && !waiting_.empty() && active_.size() < options_.max_sequences) {
    Session& session = *waiting_.front();
    const bool fresh = session.sequence < 0;
    if (!sequences_.attach(session)) return;
    waiting_.pop_front();
    session.phase = Phase::active;
    active_.push_back(&session);
    // After a stop string or an even turn everything is in the cache: the last token is computed again for its logits.
    if (session.pending() == 0) sequences_.trim(session, session.in_cache - 1);
    Generation& generation = *session.generation;
    if (!generation.first_pass) {
      generation.usage.cached_tokens = session.in_cache;
      counters_.cached_tokens += fresh ? session.in_cache : 0;
      counters_.prefix_hits += fresh && session.in_cache > 0 ? 1 : 0;
    }
  }
}

bool Worker::compute_pass() {
  if (active_.empty()) return false;
  views_.clear();
  for (const Session* session : active_) {
    const Generation& generation = *session->generation;
    views_.push_back({.pending = session->pending(),
                      .decoding = session->pending() == 1 && generation.usage.completion_tokens > 0,
                      .order = generation.order});
  }
  const std::uint32_t capacity = batch_.capacity();
  const BatchLimits limits{.tokens = capacity,
                           .outputs = options_.max_sequences,
                           .prefill = pace_.allowance(options_.target_step_ms, capacity)};
  items_.clear();
  for (const BatchItem& item : plan_batch(views_, limits))
    items_.push_back({.session = active_[item.index], .tokens = item.tokens});
  ++pass_;
  decode(items_);
  return true;
}

// Puts the items into the batch; returns how many of its tokens are prefill.
std::uint32_t Worker::fill_batch(std::span<PassItem> items) {
  batch_.clear();
  prefilling_.clear();
  std::uint32_t prefill = 0;
  for (PassItem& item : items) {
    Session& session = *item.session;
    const bool whole = item.tokens == session.pending();
    item.row = -1;
    for (std::uint32_t i = 0; i < item.tokens; ++i) {
      const std::uint32_t position = session.in_cache + i;
      const bool output = whole && i + 1 == item.tokens;
      const std::int32_t row = batch_.add(session.history[position], position, session.sequence, output);
      if (output) item.row = row;
    }
    if (item.tokens > 1 || session.generation->usage.completion_tokens == 0) {
      prefill += item.tokens;
      prefilling_.push_back(session.id());
    }
  }
  return prefill;
}

void Worker::decode(std::span<PassItem> items) {
  const std::uint32_t prefill = fill_batch(items);
  const MonoTime begin = MonoClock::now();
  for (PassItem& item : items) {
    Generation& generation = *item.session->generation;
    if (generation.first_pass) continue;
    generation.first_pass = begin;
    counters_.queue_seconds.observe(seconds_between(generation.posted, begin));
  }
  box_->begin_pass(prefilling_);
  const DecodeStatus status = context_->decode(batch_);
  box_->end_pass();
  const double ms = std::chrono::duration<double, std::milli>(MonoClock::now() - begin).count();
  counters_.decode_ms += ms;

  switch (status) {
    case DecodeStatus::ok:
      ++counters_.steps;
      counters_.batch_tokens += batch_.size();
      counters_.prompt_tokens += prefill;
      if (prefill > 0) counters_.prompt_ms += ms;
      counters_.last_batch = batch_.size();
      counters_.step_tokens.observe(batch_.size());
      counters_.step_sessions.observe(static_cast<double>(items.size()));
      counters_.max_batch = std::max(counters_.max_batch, batch_.size());
      pace_.observe(batch_.size(), prefill, ms);
      take_results(items);
      break;
    case DecodeStatus::no_room:
      make_room();
      break;
    case DecodeStatus::aborted:
      // What was finished of the pass stays; the next round takes it up from there, without the one that was cancelled.
      ++counters_.aborted_steps;
      for (const PassItem& item : items) sequences_.resync(*item.session);
      break;
    case DecodeStatus::failed:
      for (const PassItem& item : items) sequences_.resync(*item.session);
      decode_apart(items);
      break;
  }
}

// A pass failed: find out whose tokens are to blame, so that only this one fails.
void Worker::decode_apart(std::span<PassItem> items) {
  if (items.size() == 1) {
    Session& session = *items.front().session;
    finish(session, StopReason::error, Error(errc::decode_failed, "libllama failed on this session's tokens"));
    sequences_.detach(session);
    return;
  }
  for (PassItem& item : items) {
    if (item.session->phase != Phase::active) continue;  // put back by one before it
    item.tokens = std::min(item.tokens, item.session->pending());
    decode(std::span(&item, 1));
  }
}

void Worker::take_results(std::span<const PassItem> items) {
  for (const PassItem& item : items) {
    Session& session = *item.session;
    sequences_.computed(session, session.in_cache + item.tokens);
    session.last_used = pass_;
    if (item.row < 0) continue;
    const float* const logits = context_->logits(item.row);
    if (logits == nullptr) {
      finish(session, StopReason::error, Error(errc::decode_failed, "libllama gave no logits"));
      continue;
    }
    if (const Result<Token> token = session.generation->sampler->sample(logits)) {
      on_token(session, *token, logits);
    } else {
      finish(session, StopReason::error, token.error());
    }
  }
}

// The KV cache has no cells for the pass. The oldest generation always gets on, so all get through in the end.
void Worker::make_room() {
  if (sequences_.reclaim()) return;
  Session& newest =
      **std::ranges::max_element(active_, {}, [](const Session* session) { return session->generation->order; });
  if (active_.size() > 1) {
    preempt(newest);
    return;
  }
  finish(newest, StopReason::context_full,
         context_full({.needed = newest.history.size(), .n_past = newest.in_cache, .n_ctx = context_->n_ctx()}));
}

void Worker::preempt(Session& session) {
  sequences_.detach(session);
  std::erase(active_, &session);
  session.phase = Phase::waiting;
  waiting_.push_front(&session);
  starved_ = true;
  ++counters_.preemptions;
}

}  // namespace corral::engine
