// One forward pass: what goes in, what comes out, and what to do when it doesn't work out.
#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/values/errors.h"
#include "engine/worker/worker_core.h"

namespace corral::engine {
namespace {

constexpr Token kFillerToken = 0;

}  // namespace

void WorkerCore::compute_pass() {
  for (;;) {
    sequences_.compact();
    plan_pass();
    if (find_cells()) break;
    places_.make_room();
    if (roster_.active().empty()) return;
  }
  add_drafts();
  add_fillers();
  roster_.next_pass();
  decode(items_);
}

// Cells for all tokens of the pass, at the cost of those that don't run. False: there aren't so many.
bool WorkerCore::find_cells() {
  std::uint32_t tokens = 0;
  for (const PassItem& item : items_) {
    tokens += item.tokens;
    if (item.session->in_cache + item.tokens > keeper_->cells_per_sequence() && keeper_->counts_cells()) return false;
  }
  return sequences_.free_up(tokens);
}

// Each of the pass's sessions has sampled the token that it computes.
bool WorkerCore::streams_only(std::span<const PassItem> items) {
  return std::ranges::all_of(items, [](const PassItem& item) { return item.tokens == 1 && item.session->decoding(); });
}

void WorkerCore::plan_pass() {
  items_.clear();
  fillers_.clear();
  measuring_ = false;
  if (Session* const suspect = next_suspect()) {
    items_.push_back({.session = suspect, .tokens = std::min(suspect->to_compute(), batch_.capacity())});
    return;
  }
  views_.clear();
  for (const Session* session : roster_.active()) views_.push_back(runnable_view(*session));
  const auto decoding = static_cast<std::uint32_t>(std::ranges::count_if(views_, &RunnableView::decoding));
  limits_ = {.tokens = batch_.capacity(), .outputs = options_.max_sequences, .prefill = prompts_.beside(views_)};
  measuring_ = decoding > 0 && limits_.prefill == 0;
  for (const BatchItem& item : plan_batch(views_, limits_))
    items_.push_back({.session = roster_.active()[item.index], .tokens = item.tokens});
  if (decoding == views_.size()) take_turns();
  // A split layout wants its sequences in order: each gap or step back would cost a pass of its own.
  std::ranges::sort(items_, {}, [](const PassItem& item) { return item.session->sequence; });
}

// Nothing but decoding sessions: those that waited longest go first where not all go at once.
void WorkerCore::take_turns() {
  const auto running = static_cast<std::uint32_t>(items_.size());
  find_fillers(running);
  const auto fillers = static_cast<std::uint32_t>(fillers_.size());
  fillers_.clear();
  const Turn turn = costs_->turn(running, fillers);
  measuring_ = turn.trial;
  if (turn.sessions == running) return;
  std::ranges::sort(items_, {}, [](const PassItem& item) { return item.session->last_used; });
  items_.resize(turn.sessions);
}

// Where rows that nobody wants can go, in a pass of so many rows.
void WorkerCore::find_fillers(std::uint32_t rows) {
  fillers_.clear();
  // In parts, those of a pass have no gap between them.
  if (items_.size() < roster_.active().size() || costs_->most_fillers() == 0) return;
  std::uint32_t longest = 0;
  for (const PassItem& item : items_) longest = std::max(longest, item.session->in_cache);
  const std::uint32_t room = batch_.capacity() - std::min(batch_.capacity(), rows);
  sequences_.find_filler_rows({.rows = rows,
                               .sessions = static_cast<std::uint32_t>(items_.size()),
                               .longest = longest,
                               .most = std::min(costs_->most_fillers(), room)},
                              fillers_);
}

// Rows that nobody wants, where the running streams are quicker with them.
void WorkerCore::add_fillers() {
  if (items_.size() < 2 || !streams_only(items_)) return;
  std::uint32_t rows = 0;
  for (const PassItem& item : items_) rows += item.tokens + item.drafted + item.padding;
  find_fillers(rows);
  fillers_.resize(costs_->filled_rows(rows, static_cast<std::uint32_t>(fillers_.size())) - rows);
}

// Guesses behind the tokens of decoding sessions, where a pass isn't full without them.
void WorkerCore::add_drafts() {
  drafts_.clear();
  if (measuring_ || !drafter_ || options_.draft_tokens == 0 || !keeper_->divisible() ||
      roster_.active().size() > options_.draft_active)
    return;
  if (items_.empty() || next_suspect() != nullptr || !streams_only(items_)) return;
  const auto rows = static_cast<std::uint32_t>(items_.size());
  // In a pool guesses take what is free when everybody has a cell for its own token: a pass that doesn't fit would be
  // refused first, and computed without them then.
  const std::uint32_t free = keeper_.shape().unified() ? keeper_->free_cells() : batch_.capacity() + rows;
  const std::uint32_t room = free - std::min(free, rows);
  if (room == 0) return;
  for (PassItem& item : items_) {
    item.first_draft = static_cast<std::uint32_t>(drafts_.size());
    // The last token of an answer can't be followed by a guess: all in the pass may become part of the answer.
    const std::uint32_t ends = std::max(1u, item.session->remaining()) - 1;
    const std::uint32_t most = std::min({options_.draft_tokens, ends, room, room_behind(*item.session)});
    if (most > 0)
      drafter_->draft(item.session->shared->id, item.session->history,
                      {.most = most, .rows = rows, .costs = costs_->rows()}, drafts_);
    item.drafted = static_cast<std::uint32_t>(drafts_.size()) - item.first_draft;
  }
  if (drafts_.empty()) return;
  guess_lists_.clear();
  for (const PassItem& item : items_) {
    guess_lists_.push_back(
        {.guesses = std::span(drafts_).subspan(item.first_draft, item.drafted), .most = room_behind(*item.session)});
  }
  // A split layout computes sequences with different numbers of tokens one after another.
  const std::uint32_t most = std::min({most_guesses(rows, options_.draft_tokens), batch_.capacity() - rows, room});
  choose_guesses(guess_lists_, costs_->rows(), {.most = most, .equal = !keeper_.shape().unified()});
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::uint32_t chosen = guess_lists_[i].rows;
    items_[i].drafted = std::min(items_[i].drafted, chosen);
    items_[i].padding = chosen - items_[i].drafted;
  }
}

// Cells that a session may still take, beside the one for its pending token.
std::uint32_t WorkerCore::room_behind(const Session& session) const {
  const std::uint32_t cells = keeper_->cells_per_sequence();
  return cells - std::min(cells, session.in_cache + 1);
}

// Puts the items into the batch; returns how many of its tokens are prefill.
std::uint32_t WorkerCore::fill_batch(std::span<PassItem> items) {
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
    for (std::uint32_t i = 0; i < item.drafted + item.padding; ++i) {
      const bool guess = i < item.drafted;
      batch_.add(guess ? drafts_[item.first_draft + i].token : session.history.back(),
                 session.in_cache + item.tokens + i, session.sequence, guess);
    }
    if (item.tokens > 1 || session.generation->usage.completion_tokens == 0) {
      prefill += item.tokens;
      prefilling_.push_back(session.id());
    }
  }
  // With logits: the last matrix is computed for whole tiles, too.
  for (const Sequences::FillerRow& row : fillers_) batch_.add(kFillerToken, row.position, row.sequence, true);
  return prefill;
}

void WorkerCore::decode(std::span<PassItem> items) {
  const std::uint32_t prefill = fill_batch(items);
  const MonoTime begin = clock_();
  for (PassItem& item : items) {
    Generation& generation = *item.session->generation;
    if (generation.first_pass) continue;
    generation.first_pass = begin;
    counters_.queue_seconds.observe(seconds_between(generation.posted, begin));
    writer_.tell_prompt(*item.session, item.session->in_cache);
  }
  box_->begin_pass(prefilling_);
  hand_.computing = true;
  const DecodeStatus status = keeper_->decode(batch_);
  hand_.computing = false;
  box_->end_pass();
  sequences_.clear_filler_rows(fillers_);
  const double ms = std::chrono::duration<double, std::milli>(clock_() - begin).count();
  counters_.decode_ms += ms;

  switch (status) {
    case DecodeStatus::ok: {
      const auto fillers = static_cast<std::uint32_t>(fillers_.size());
      const std::uint32_t tokens = batch_.size() - fillers;
      ++counters_.steps;
      counters_.batch_tokens += tokens;
      counters_.filler_rows += fillers;
      counters_.prompt_tokens += prefill;
      if (prefill > 0) counters_.prompt_ms += ms;
      costs_->observe({.rows = batch_.size(),
                       .decoding = tokens - prefill,
                       .prefill = prefill,
                       .may_fill = keeper_.may_fill(),
                       .ms = ms});
      counters_.last_batch = tokens;
      counters_.step_tokens.observe(tokens);
      counters_.step_sessions.observe(static_cast<double>(items.size()));
      counters_.max_batch = std::max(counters_.max_batch, tokens);
      take_results(items);
      break;
    }
    case DecodeStatus::no_room:
      // Where the ledger was wrong. Guesses are never worth anybody's cells, and rows that nobody wants even less.
      if (without_extras(items)) return decode(items);
      places_.make_room();
      break;
    case DecodeStatus::aborted:
      // What was finished of the pass stays; the next round takes it up from there, without the one that was cancelled.
      ++counters_.aborted_steps;
      for (const PassItem& item : items) sequences_.resync(*item.session);
      break;
    case DecodeStatus::failed:
      // Nobody answers for a guess.
      if (items.size() == 1 && without_extras(items)) {
        sequences_.resync(*items.front().session);
        items.front().tokens = std::min(items.front().tokens, items.front().session->to_compute());
        return decode(items);
      }
      find_blame(items);
      break;
  }
}

// Takes what nobody waits for out of a pass, guesses and rows that fill it up; false if there was nothing.
bool WorkerCore::without_extras(std::span<PassItem> items) {
  bool any = !fillers_.empty();
  fillers_.clear();
  for (PassItem& item : items) any |= std::exchange(item.drafted, 0u) + std::exchange(item.padding, 0u) > 0;
  return any;
}

// A pass failed. Whose tokens are to blame shows when each session computes its own alone, in the passes to come. Not
// only once each: a state that can't be cut back is computed anew from the start, and would get no further than before.
void WorkerCore::find_blame(std::span<const PassItem> items) {
  for (const PassItem& item : items) {
    Session& session = *item.session;
    const std::uint32_t wanted = session.in_cache + item.tokens;
    sequences_.resync(session);
    if (items.size() > 1) session.suspect_until = wanted;
  }
  if (items.size() > 1) return;
  Session& session = *items.front().session;
  endings_.finish(session, StopReason::error, Error(errc::decode_failed, "libllama failed on this session's tokens"));
  sequences_.give_up(session, Sequences::Leave::nothing);
}

// The oldest generation that has to compute alone; nullptr: none.
Session* WorkerCore::next_suspect() const {
  Session* oldest = nullptr;
  for (Session* session : roster_.active()) {
    if (session->in_cache >= session->suspect_until) continue;
    if (oldest == nullptr || session->generation->order < oldest->generation->order) oldest = session;
  }
  return oldest;
}

void WorkerCore::take_results(std::span<const PassItem> items) {
  sample_ahead(items);
  for (const PassItem& item : items) {
    Session& session = *item.session;
    hand_.session = &session;
    sequences_.computed(session, session.in_cache + item.tokens);
    if (session.in_cache >= session.suspect_until) session.suspect_until = 0;
    roster_.use(session);
    writer_.tell_prompt(session, session.in_cache);
    if (item.row >= 0) take_result(item);
  }
  hand_.session = nullptr;
}

// The token after the last pending one; and as long as the guess behind it was that token, the one after it as well.
void WorkerCore::take_result(const PassItem& item) {
  Session& session = *item.session;
  Usage& usage = session.generation->usage;
  usage.drafted_tokens += item.drafted;
  std::uint32_t accepted = 0;
  for (std::uint32_t i = 0; i <= item.drafted; ++i) {
    const float* const logits = keeper_->logits(item.row + static_cast<std::int32_t>(i));
    if (logits == nullptr) {
      endings_.finish(session, StopReason::error, Error(errc::decode_failed, "libllama gave no logits"));
      break;
    }
    const Result<Token> token = sample(*session.generation, logits);
    if (!token) {
      endings_.finish(session, StopReason::error, token.error());
      break;
    }
    const bool right = i < item.drafted && *token == drafts_[item.first_draft + i].token;
    if (right) {
      ++accepted;
      ++usage.accepted_tokens;
    }
    on_token(session, *token, logits);
    // Ended, or waiting for its reader: nothing more is taken, right or not.
    if (!right || session.phase() != Phase::active) break;
    sequences_.computed(session, session.in_cache + 1);
  }
  if (item.drafted + item.padding == 0) return;
  counters_.drafted_tokens += item.drafted;
  counters_.accepted_tokens += accepted;
  if (session.sequence >= 0) sequences_.discard_behind(session);
}

}  // namespace corral::engine
