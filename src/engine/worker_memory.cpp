// Who gets a place and cells, and what the memory looks like.
#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "engine/errors.h"
#include "engine/worker_core.h"

namespace corral::engine {

void WorkerCore::resume_paused() {
  std::erase_if(paused_, [this](Session* session) {
    if (session->generation->stream->full()) return false;
    enqueue(*session);
    return true;
  });
}

bool WorkerCore::ensure_memory() {
  if (memory_) return true;
  auto made = make_(shape_);
  if (!made && !shape_.unified()) {
    no_split_ = true;
    made = make_(shape_ = pool());
  }
  // There was enough when it grew, but not any more.
  if (!made && shape_.cells != 0) made = make_(shape_ = {});
  if (!made) {
    out_of_memory(made.error());
    return false;
  }
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
void WorkerCore::out_of_memory(const Error& error) {
  for (auto& [id, session] : sessions_) {
    if (session->generation) finish(*session, StopReason::error, error);
  }
}

void WorkerCore::choose_memory() {
  if (active_.empty() && waiting_.empty()) return;
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
    std::ranges::for_each(active_, view);
    // Who belongs into the lane won't be computed here.
    std::ranges::for_each(waiting_ | std::views::filter([this](const Session* s) { return !wants_lane(*s); }), view);
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
  const std::uint32_t before = n_ctx_, cells = growth_(*memory_, needed);
  if (cells <= before || (no_growth_ && cells >= no_growth_->from && clock_() < no_growth_->until)) return false;
  change_memory({.cells = cells});
  if (n_ctx_ > before) {
    ++counters_.growths;
  } else {
    constexpr Millis kAgain{10'000};
    no_growth_ = {.from = cells, .until = clock_() + kAgain};
  }
  return true;
}

// Cells for those that come next, and a little ahead of them. Who can't have them is told before anything is computed:
// others would give up theirs for nothing.
void WorkerCore::provide_cells() {
  constexpr std::uint32_t kAhead = 512;
  if (options_.most_cells <= first_n_ctx_) return;
  const auto places = std::min<std::size_t>(waiting_.size(), options_.max_sequences);
  const std::vector<Session*> next(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(places));
  for (Session* session : next) {
    if (!session->generation) continue;  // there was no memory, and everything has ended
    const auto held = static_cast<std::uint32_t>(session->history.size());
    const std::uint32_t wanted = held + std::min(session->remaining(), kAhead);
    if (wanted <= n_ctx_ || !memory_) continue;
    if (!shape_.unified()) change_memory(pool());
    grow(wanted);
    if (held > n_ctx_) grow(held + 1);
    if (held <= n_ctx_ || !session->generation) continue;
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
  for (Session* session : active_) {
    moved.push_back({session, session->in_cache, memory_->save(session->sequence)});
    sequences_.drop(*session);
  }
  sequences_.park_all();
  const MonoTime saved = clock_();
  sequences_.bind(nullptr);
  memory_.reset();
  if (!ensure_memory()) return;
  const MonoTime made = clock_();
  counters_.layout_changes += other_layout ? 1 : 0;
  for (Moved& one : moved) {
    if (!sequences_.put_back(*one.session, one.tokens, one.bytes)) {
      sequences_.park_saved(*one.session, one.tokens, std::move(one.bytes));
      back_to_queue(*one.session);
    }
    one.bytes = {};
  }
  using Ms = std::chrono::duration<double, std::milli>;
  costs_->memory_made(Ms(made - saved).count());
  counters_.layout_ms += Ms(clock_() - begin).count();
}

void WorkerCore::admit() {
  if (active_.empty()) starved_ = false;
  if (starved_ || waiting_.empty() || !ensure_memory()) return;
  provide_cells();
  if (!memory_) return;
  // With parts for each, not more than there are parts. Who is in the lane has a place, but no part until it is back.
  const std::uint32_t places = std::min(options_.max_sequences - (aside_ != nullptr ? 1 : 0), memory_->sequence_ids());
  for (auto it = waiting_.begin(); it != waiting_.end() && active_.size() < places;) {
    Session& session = **it;
    Generation& generation = *session.generation;
    const bool fresh = session.sequence < 0;
    // Others needed its cells: it would only lose them again before its turn.
    if (fresh && lane_busy_ && generation.awaits_lane && wants_lane(session)) {
      ++it;
      continue;
    }
    in_hand_ = &session;
    const Sequences::Attach attached = sequences_.attach(session);
    in_hand_ = nullptr;
    if (attached == Sequences::Attach::no_place) break;
    if (attached == Sequences::Attach::later) {
      ++it;
      continue;
    }
    if (!generation.first_pass && fresh && !std::exchange(generation.counted, true)) {
      counters_.cached_tokens += session.in_cache;
      counters_.prefix_hits += session.in_cache > 0 ? 1 : 0;
    }
    generation.awaits_lane = lane_busy_ && wants_lane(session);
    if (generation.awaits_lane) {  // its turn comes
      ++it;
      continue;
    }
    it = waiting_.erase(it);
    session.phase = Phase::active;
    active_.push_back(&session);
    // After a stop string or an even turn everything is in the cache: the last token is computed again for its logits.
    if (session.pending() == 0 && generation.max_new_tokens > 0) sequences_.trim(session, session.in_cache - 1);
    if (!generation.first_pass) generation.usage.cached_tokens = session.in_cache;
  }
}

// The KV cache has no cells for the pass. The oldest generation always gets on, so all get through in the end.
void WorkerCore::make_room() {
  // A part of a split layout is never larger than the pool: there, everybody's cells are for all.
  if (!shape_.unified() && options_.layout != KvLayout::split) {
    change_memory(pool());
    return;
  }
  if (shape_.unified() && sequences_.reclaim()) return;
  if (grow(n_ctx_ + 1)) return;
  Session& newest =
      **std::ranges::max_element(active_, {}, [](const Session* session) { return session->generation->order; });
  if (shape_.unified() && active_.size() > 1) {
    preempt(newest);
    return;
  }
  Session* longest =
      *std::ranges::max_element(active_, {}, [](const Session* session) { return session->history.size(); });
  finish(*longest, StopReason::context_full,
         context_full(
             {.needed = longest->history.size(), .n_past = longest->in_cache, .n_ctx = memory_->cells_per_sequence()}));
}

void WorkerCore::back_to_queue(Session& session) {
  std::erase(active_, &session);
  enqueue(session);
}

void WorkerCore::preempt(Session& session) {
  sequences_.detach(session);
  back_to_queue(session);
  starved_ = true;
  ++counters_.preemptions;
}

}  // namespace corral::engine
