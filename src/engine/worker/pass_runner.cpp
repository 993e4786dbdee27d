#include "engine/worker/pass_runner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

constexpr Token kPaddingToken = 0;

}  // namespace

std::uint32_t fill_batch(Pass& pass, Batch& batch, std::vector<std::uint64_t>& prefilling) {
  batch.clear();
  prefilling.clear();
  std::uint32_t prefill = 0;
  for (PassItem& item : pass.items) {
    Session& session = *item.session;
    const bool whole = item.tokens == session.pending();
    item.row = -1;
    for (std::uint32_t i = 0; i < item.tokens; ++i) {
      const std::uint32_t position = session.in_cache + i;
      const bool output = whole && i + 1 == item.tokens;
      const std::int32_t row = batch.add(session.history[position], position, session.sequence, output);
      if (output) item.row = row;
    }
    for (std::uint32_t i = 0; i < item.drafted + item.padding; ++i) {
      const bool is_draft = i < item.drafted;
      batch.add(is_draft ? pass.drafts[item.first_draft + i].token : session.history.back(),
                session.in_cache + item.tokens + i, session.sequence, is_draft);
    }
    if (item.tokens > 1 || session.generation->usage.completion_tokens == 0) {
      prefill += item.tokens;
      prefilling.push_back(session.id());
    }
  }
  // With logits: the output matrix is computed for whole tiles, too.
  for (const PaddingRow& row : pass.padding) batch.add(kPaddingToken, row.position, row.sequence, true);
  return prefill;
}

std::uint32_t fill_media_batch(Pass& pass, Batch& batch, std::vector<std::uint64_t>& prefilling) {
  PassItem& item = pass.items.front();
  Session& session = *item.session;
  const MediaSpan& span = *session.next_media();
  const std::size_t width = span.rows->size() / span.piece->cells;
  batch.clear();
  batch.take_embeddings(span.rows->data() + width * (session.in_cache - span.begin), span);
  item.row = -1;
  for (std::uint32_t i = 0; i < item.tokens; ++i)
    batch.add(session.history[session.in_cache + i], session.in_cache + i, session.sequence, false);
  prefilling.assign(1, session.id());
  return item.tokens;
}

PassRunner::PassRunner(Parts parts, std::uint32_t batch)
    : box_(std::move(parts.box)),
      clock_(std::move(parts.clock)),
      sessions_(parts.sessions),
      sequences_(parts.sequences),
      kv_(parts.kv),
      costs_(parts.costs),
      writer_(parts.writer),
      output_(parts.output),
      finisher_(parts.finisher),
      faults_(parts.faults),
      counters_(parts.counters),
      batch_(batch) {}

bool PassRunner::run(Pass& pass) {
  const std::uint32_t prefill =
      pass.media ? fill_media_batch(pass, batch_, prefilling_) : fill_batch(pass, batch_, prefilling_);
  const MonoTime started = clock_();
  begin(pass, started);
  // No cancel may cost other sessions their cells; a pass is short anyway.
  const bool may_be_cut =
      kv_->divisible() || (pass.items.size() == 1 && sequences_.may_be_cut(*pass.items.front().session));
  if (!may_be_cut) prefilling_.clear();
  box_->begin_pass(prefilling_);
  faults_.computing = true;
  kv_->set_adapters(pass.items.front().session->shared->adapters);
  const DecodeStatus status = kv_->decode(batch_);
  faults_.computing = false;
  box_->end_pass();
  clear_padding_rows(*kv_, pass.padding);
  const double ms = std::chrono::duration<double, std::milli>(clock_() - started).count();
  counters_.decode_ms += ms;

  switch (status) {
    case DecodeStatus::ok:
      count(pass, prefill, ms);
      take_results(pass);
      break;
    case DecodeStatus::no_room:
      // No session loses cells for draft tokens or padding rows: try without them.
      return pass.drop_extras() && run(pass);
    case DecodeStatus::aborted:
      // The finished part of the pass stays. The next round continues from there, without the cancelled session.
      ++counters_.aborted_steps;
      sequences_.give_up_lost();
      for (const PassItem& item : pass.items) sequences_.resync(*item.session);
      break;
    case DecodeStatus::failed:
      // The draft tokens may be the cause: try without them.
      if (pass.items.size() == 1 && pass.drop_extras()) {
        PassItem& item = pass.items.front();
        sequences_.resync(*item.session);
        item.tokens = std::min(item.tokens, item.session->to_compute_at_once());
        return run(pass);
      }
      find_blame(pass);
      break;
  }
  return true;
}

// For some it is the first one.
void PassRunner::begin(const Pass& pass, MonoTime now) {
  for (const PassItem& item : pass.items) {
    Generation& generation = *item.session->generation;
    if (generation.first_pass) continue;
    generation.first_pass = now;
    counters_.queue_seconds.observe(seconds_between(generation.posted, now));
    writer_.report_progress(*item.session, item.session->in_cache);
  }
}

void PassRunner::count(const Pass& pass, std::uint32_t prefill, double ms) {
  const auto padding = static_cast<std::uint32_t>(pass.padding.size());
  const std::uint32_t tokens = batch_.size() - padding;
  ++counters_.steps;
  counters_.batch_tokens += tokens;
  counters_.padding_rows += padding;
  counters_.prompt_tokens += prefill;
  if (prefill > 0) counters_.prompt_ms += ms;
  if (pass.media) counters_.media_tokens += prefill;
  // Their rows are as expensive as those of a prompt, but their passes are no choice of the cost model.
  if (!pass.media)
    costs_.observe({.rows = batch_.size(),
                    .decoding = tokens - prefill,
                    .prefill = prefill,
                    .may_fill = kv_.may_fill(),
                    .ms = ms});
  counters_.last_batch = tokens;
  counters_.step_tokens.observe(tokens);
  counters_.step_sessions.observe(static_cast<double>(pass.items.size()));
  counters_.max_batch = std::max(counters_.max_batch, tokens);
}

void PassRunner::take_results(const Pass& pass) {
  output_.choose_ahead(pass);
  for (const PassItem& item : pass.items) {
    Session& session = *item.session;
    faults_.session = &session;
    sequences_.computed(session, session.in_cache + item.tokens);
    if (pass.media) session.drop_media_rows();
    if (session.in_cache >= session.suspect_until) session.suspect_until = 0;
    sessions_.use(session);
    writer_.report_progress(session, session.in_cache);
    if (item.row >= 0) output_.take(pass, item);
  }
  faults_.session = nullptr;
}

// A pass failed. To find the failing session, each session computes its tokens alone in the next passes. One pass each
// is not enough: a state that can't be cut is computed again from the start and must get as far as before.
void PassRunner::find_blame(const Pass& pass) {
  for (const PassItem& item : pass.items) {
    Session& session = *item.session;
    const std::uint32_t wanted = session.in_cache + item.tokens;
    sequences_.resync(session);
    if (pass.items.size() > 1) session.suspect_until = wanted;
  }
  sequences_.give_up_lost();
  if (pass.items.size() > 1) return;
  Session& session = *pass.items.front().session;
  finisher_.finish(session, FinishReason::error,
                   Error(errc::decode_failed, "libllama failed on this session's tokens"));
  sequences_.give_up(session, Sequences::Leave::nothing);
}

}  // namespace corral::engine
