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
    session->phase = Phase::waiting;
    waiting_.push_back(session);
    return true;
  });
}

bool WorkerCore::ensure_memory() {
  if (memory_) return true;
  auto made = make_(shape_);
  if (!made && !shape_.unified()) {
    no_split_ = true;
    made = make_(shape_ = {});
  }
  if (!made) {
    out_of_memory(made.error());
    return false;
  }
  memory_ = std::move(*made);
  memory_->set_threads(given_.n_threads, given_.n_threads_batch);
  sequences_.bind(memory_.get());
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
  } else if (options_.layout == KvLayout::automatic && options_.foreign_cell_ms > 0) {
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
    const auto decoding = static_cast<std::uint32_t>(
        std::ranges::count_if(layout_views_, [](const LayoutView& v) { return v.tokens - v.cached == 1; }));
    constexpr double kUnknownPassMs = 100;
    const double pass_ms = decode_ms(decoding, pace());
    LayoutFacts facts{.now = shape_,
                      .made = memory_ != nullptr,
                      .cells = n_ctx_,
                      .multiple = options_.cell_multiple,
                      .max_streams = options_.max_sequences,
                      .idle_cells = sequences_.idle_cells(),
                      .foreign_cell_ms = options_.foreign_cell_ms,
                      .move_cell_ms = options_.move_cell_ms,
                      .make_ms = make_ms_,
                      .pass_ms = pass_ms > 0 ? pass_ms : kUnknownPassMs,
                      .chunk = prompt_limit(views_)};
    quiet_times_.observe(layout_views_, facts);
    facts.foresight = quiet_times_.foresight();
    wanted = choose_layout(layout_views_, facts);
  }
  if (wanted != shape_) change_memory(wanted);
}

// Running sessions keep their turn; what they have computed moves with them.
void WorkerCore::change_memory(KvShape shape) {
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
  ++counters_.layout_changes;
  // Backwards, so that those that go back to the queue stand there in their order.
  for (Moved& one : std::views::reverse(moved)) {
    if (!sequences_.put_back(*one.session, one.tokens, one.bytes)) {
      sequences_.park_saved(*one.session, one.tokens, std::move(one.bytes));
      back_to_queue(*one.session);
    }
    one.bytes = {};
  }
  using Ms = std::chrono::duration<double, std::milli>;
  make_ms_ = 0.5 * make_ms_ + 0.5 * Ms(made - saved).count();
  counters_.layout_ms += Ms(clock_() - begin).count();
}

void WorkerCore::admit() {
  if (active_.empty()) starved_ = false;
  if (starved_ || waiting_.empty() || !ensure_memory()) return;
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
    const Sequences::Attach attached = sequences_.attach(session);
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
    change_memory({});
    return;
  }
  if (shape_.unified() && sequences_.reclaim()) return;
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
  session.phase = Phase::waiting;
  waiting_.push_front(&session);
}

void WorkerCore::preempt(Session& session) {
  sequences_.detach(session);
  back_to_queue(session);
  starved_ = true;
  ++counters_.preemptions;
}

}  // namespace corral::engine
