// Who gets a place and cells, and what the memory looks like.
#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/values/errors.h"
#include "engine/worker/worker_core.h"

namespace corral::engine {

void WorkerCore::resume_paused() {
  for (std::size_t i = 0; i < roster_.paused().size();) {
    Session& session = *roster_.paused()[i];
    if (session.generation->stream->full())
      ++i;
    else
      roster_.wait(session);
  }
}

bool WorkerCore::ensure_memory() {
  if (memory_) return true;
  if (refusal_) return false;
  auto made = make_(shape_);
  if (!made && !shape_.unified()) {
    no_split_ = true;
    made = make_(shape_ = pool());
  }
  // There was enough when it grew, but not any more.
  if (!made && shape_.cells != 0) made = make_(shape_ = {});
  if (!made) {
    refused(std::move(made.error()));
    return false;
  }
  roster_.feed();
  memory_ = std::move(*made);
  memory_->set_threads(given_.n_threads, given_.n_threads_batch);
  sequences_.bind(memory_.get());
  // A part of a split layout says nothing of the pool.
  n_ctx_ = shape_.cells == 0 ? first_n_ctx_ : shape_.cells;
  const std::uint64_t kept = std::uint64_t{options_.prefix_cache_tokens} * n_ctx_ / first_n_ctx_;
  sequences_.limit_prefixes(
      static_cast<std::uint32_t>(std::min<std::uint64_t>(kept, options_.most_prefix_cache_tokens)));
  return true;
}

// There was room for the cells once, but not any more: nobody can go on.
void WorkerCore::refused(Error error) {
  if (!explain_ || !chores_) return out_of_memory(error);
  const auto refusal = std::make_shared<Refusal>(std::move(error), clock_() + options_.most_explaining);
  const auto find_out = [refusal, shape = shape_, explain = explain_, box = box_] {
    try {
      refusal->error = explain(refusal->error, shape);
    } catch (...) {  // then it is told as it is
    }
    refusal->explained = true;
    box->wake();
  };
  if (!chores_->run(find_out)) return out_of_memory(refusal->plain);
  refusal_ = refusal;
}

void WorkerCore::out_of_memory(const Error& error) {
  for (Session& session : roster_.all()) {
    if (session.generation) finish(session, StopReason::error, error);
  }
}

void WorkerCore::choose_memory() {
  if (roster_.active().empty() && roster_.waiting().empty()) return;
  KvShape wanted;
  if (no_split_) {
    // It was tried and there was no memory for it.
  } else if (options_.layout == KvLayout::split) {
    wanted = {.streams = options_.max_sequences};
  } else if (options_.layout == KvLayout::automatic && costs_->may_split()) {
    layout_views_.clear();
    views_.clear();
    const auto view = [this](const Session* session) {
      views_.push_back(view_of(*session));
      layout_views_.push_back({.tokens = static_cast<std::uint32_t>(session->history.size()),
                               .cached = session->in_cache,
                               .remaining = session->remaining()});
    };
    std::ranges::for_each(roster_.active(), view);
    // Who belongs into the lane won't be computed here.
    for (const Session* session : roster_.waiting()) {
      if (!wants_lane(*session)) view(session);
    }
    wanted = costs_->layout(layout_views_, {.now = shape_,
                                            .made = memory_ != nullptr,
                                            .cells = n_ctx_,
                                            .multiple = options_.cell_multiple,
                                            .max_streams = options_.max_sequences,
                                            .idle_cells = sequences_.idle_cells(),
                                            .chunk = prompt_limit(views_),
                                            .may_fill = may_fill()});
  }
  wanted.cells = shape_.cells;
  if (wanted != shape_) change_memory(wanted);
}

// A larger pool, for at least so many cells, if there may be one and there is memory for it. True: the memory was made
// anew, so that nothing is as it was; n_ctx_ tells whether it is larger.
bool WorkerCore::grow(std::uint32_t needed) {
  if (!memory_ || !shape_.unified() || options_.most_cells <= n_ctx_ || options_.layout == KvLayout::split)
    return false;
  const auto in_vain = [this](const std::optional<NoGrowth>& known, std::uint32_t cells) {
    return known && cells >= known->from && clock_() < known->until;
  };
  if (in_vain(no_room_, needed)) return false;
  const std::uint32_t before = n_ctx_, cells = growth_(*memory_, needed);
  if (cells <= before || in_vain(no_growth_, cells)) {
    constexpr Millis kLookAgain{1'000};
    no_room_ = {.from = needed, .until = clock_() + kLookAgain};
    return false;
  }
  change_memory({.cells = cells});
  if (n_ctx_ > before) {
    ++counters_.growths;
  } else {
    constexpr Millis kTryAgain{10'000};
    no_growth_ = {.from = cells, .until = clock_() + kTryAgain};
  }
  return true;
}

// Cells for those that come next, and a little ahead of them. Who can't have them is told before anything is computed:
// others would give up theirs for nothing.
void WorkerCore::provide_cells() {
  constexpr std::uint32_t kAhead = 512;
  if (options_.most_cells <= first_n_ctx_) return;
  const auto queue = roster_.waiting().first(std::min<std::size_t>(roster_.waiting().size(), options_.max_sequences));
  const std::vector<Session*> next(queue.begin(), queue.end());
  for (Session* session : next) {
    if (!session->generation) continue;  // there was no memory, and everything has ended
    const auto held = static_cast<std::uint32_t>(session->history.size());
    const std::uint32_t wanted = held + std::min(session->remaining(), kAhead);
    if (wanted <= n_ctx_ || !memory_) continue;
    if (!shape_.unified()) change_memory(pool());
    grow(wanted);
    if (held > n_ctx_) grow(held + 1);
    if (held <= n_ctx_ || !memory_ || !session->generation) continue;
    finish(*session, StopReason::context_full, context_full({.needed = held + 1, .n_past = held, .n_ctx = n_ctx_}));
  }
}

// Running sessions keep their turn; what they have computed moves with them.
void WorkerCore::change_memory(KvShape shape) {
  const bool other_layout = shape.streams != shape_.streams;
  shape_ = shape;
  if (!memory_) return;
  const MonoTime begin = clock_();
  struct Moved {
    Session* session;
    std::uint32_t tokens;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Moved> moved;
  for (Session* session : roster_.active()) {
    moved.push_back({session, session->in_cache, sequences_.save(*session)});
    sequences_.give_up(*session, Sequences::Leave::nothing);
  }
  sequences_.park_all();
  const MonoTime saved = clock_();
  sequences_.bind(nullptr);
  memory_.reset();
  const bool there = ensure_memory();
  const MonoTime made = clock_();
  for (Moved& one : moved) {
    if (!there || !sequences_.put_back(*one.session, one.tokens, one.bytes)) {
      sequences_.park_saved(*one.session, one.tokens, std::move(one.bytes));
      if (one.session->generation) roster_.wait(*one.session);
    }
    give_back(chores_, std::move(one.bytes));
  }
  if (!there) return;
  counters_.layout_changes += other_layout ? 1 : 0;
  using Ms = std::chrono::duration<double, std::milli>;
  costs_->memory_made(Ms(made - saved).count());
  counters_.layout_ms += Ms(clock_() - begin).count();
}

// Tokens of its answer that are counted as if they were in cells.
std::uint32_t WorkerCore::foreseen(const Session& session) { return std::min(session.remaining(), kPromisedTokens); }

// Of those that have a place, in the lane too.
CellClaims WorkerCore::claims() const {
  CellClaims claims;
  for (const Session* session : roster_.active()) {
    claims.sequences.push_back(session->sequence);
    claims.promised += session->pending() + foreseen(*session);
  }
  if (const Session* const aside = roster_.aside())
    claims.promised += static_cast<std::uint32_t>(aside->history.size()) + foreseen(*aside);
  return claims;
}

void WorkerCore::admit() {
  look_again_.reset();
  for (;;) {
    if (roster_.waiting().empty()) return;
    if (!ensure_memory()) {
      if (refusal_) look_again_ = refusal_->until;
      return;
    }
    provide_cells();
    if (!memory_ || admit_who_fits()) return;
    if (!grow(n_ctx_ + 1)) return;  // a larger pool has room for more at a time
  }
}

// By what those that run have and will take; who is alone gets on, whatever can be foreseen.
Sequences::Attach WorkerCore::attach(Session& session) {
  std::optional<MonoTime>& since = session.reads.since;
  const std::uint64_t ended = *reads_ended_;
  const bool in_time = !since || clock_() < *since + options_.most_reading;
  const auto wait = [&] {
    const MonoTime end = *since + options_.most_reading;
    look_again_ = std::min(look_again_.value_or(end), end);
    return Sequences::Attach::reading;
  };
  if (since && in_time && session.reads.ended == ended) return wait();
  const CellClaims running = claims();
  const bool alone = roster_.active().empty() && roster_.aside() == nullptr;
  const Sequences::Attach attached = sequences_.attach(
      session, {.claims = alone ? nullptr : &running, .behind = foreseen(session), .may_read = in_time});
  if (attached != Sequences::Attach::reading) return attached;
  if (!since) since = clock_();
  session.reads.ended = ended;
  return wait();
}

// False: there are no cells for who stands first.
bool WorkerCore::admit_who_fits() {
  // With parts for each, not more than there are parts. Who is in the lane has a place, but no part until it is back.
  const std::uint32_t places =
      std::min(options_.max_sequences - (roster_.aside() != nullptr ? 1 : 0), memory_->sequence_ids());
  for (std::size_t i = 0; i < roster_.waiting().size() && roster_.active().size() < places;) {
    Session& session = *roster_.waiting()[i];
    Generation& generation = *session.generation;
    const bool fresh = session.sequence < 0;
    // Without cells it stays without: it would only lose them again before its turn.
    if (lane_busy_ && generation.awaits_lane && wants_lane(session)) {
      ++i;
      continue;
    }
    if (roster_.starves(session)) return false;
    in_hand_ = &session;
    const Sequences::Attach attached = attach(session);
    in_hand_ = nullptr;
    if (attached == Sequences::Attach::no_place) break;
    if (attached == Sequences::Attach::no_cells) {
      generation.awaits_lane = lane_busy_ && wants_lane(session);  // that comes first then
      if (!generation.awaits_lane) {
        roster_.starve(session);
        return false;
      }
    }
    if (attached != Sequences::Attach::done) {
      ++i;
      continue;
    }
    if (!generation.first_pass && fresh && !std::exchange(generation.counted, true)) {
      counters_.cached_tokens += session.in_cache;
      counters_.prefix_hits += session.in_cache > 0 ? 1 : 0;
    }
    generation.awaits_lane = lane_busy_ && wants_lane(session);
    if (generation.awaits_lane) {  // its turn comes
      ++i;
      continue;
    }
    roster_.activate(session);
    // After a stop string or an even turn everything is in the cache: the last token is computed again for its logits.
    if (session.pending() == 0 && generation.max_new_tokens > 0) sequences_.trim(session, session.in_cache - 1);
    if (!generation.first_pass) generation.usage.cached_tokens = session.in_cache;
  }
  return true;
}

// Cells for all tokens of the pass, at the cost of those that don't run. False: there aren't so many.
bool WorkerCore::find_cells() {
  std::uint32_t tokens = 0;
  for (const PassItem& item : items_) {
    tokens += item.tokens;
    if (item.session->in_cache + item.tokens > memory_->cells_per_sequence() && memory_->counts_cells()) return false;
  }
  return sequences_.free_up(tokens);
}

// The KV cache has no cells for the pass. The oldest generation always gets on, so all get through in the end.
void WorkerCore::make_room() {
  // A part of a split layout is never larger than the pool: there, everybody's cells are for all.
  if (!shape_.unified() && options_.layout != KvLayout::split) {
    change_memory(pool());
    return;
  }
  if (grow(n_ctx_ + 1)) return;
  Session& newest = **std::ranges::max_element(roster_.active(), {},
                                               [](const Session* session) { return session->generation->order; });
  if (shape_.unified() && roster_.active().size() > 1) {
    preempt(newest);
    return;
  }
  Session* longest =
      *std::ranges::max_element(roster_.active(), {}, [](const Session* session) { return session->history.size(); });
  finish(*longest, StopReason::context_full,
         context_full(
             {.needed = longest->history.size(), .n_past = longest->in_cache, .n_ctx = memory_->cells_per_sequence()}));
}

void WorkerCore::preempt(Session& session) {
  sequences_.give_up(session, Sequences::Leave::copy);
  roster_.wait(session);
  ++counters_.preemptions;
}

}  // namespace corral::engine
