#include "engine/worker/admission_controller.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

// Tokens of its answer for which cells are reserved.
std::uint32_t foreseen(const Session& session) { return std::min(session.remaining(), kPromisedTokens); }

// Most background generations that are active: the rest stays free for other generations.
std::uint32_t max_in_background(std::uint32_t admission) { return std::max(admission * 3 / 4, 1u); }

std::uint32_t held(const Session& session) { return static_cast<std::uint32_t>(session.history.size()); }

}  // namespace

AdmissionController::AdmissionController(Parts parts, const WorkerOptions& options)
    : options_(options),
      clock_(std::move(parts.clock)),
      reads_ended_(std::move(parts.reads_ended)),
      sessions_(parts.sessions),
      sequences_(parts.sequences),
      kv_(parts.kv),
      migrator_(parts.migrator),
      lane_(parts.lane),
      finisher_(parts.finisher),
      media_(parts.media),
      faults_(parts.faults),
      counters_(parts.counters) {}

void AdmissionController::resume_paused() {
  for (std::size_t i = 0; i < sessions_.paused().size();) {
    Session& session = *sessions_.paused()[i];
    if (session.generation->stream->full())
      ++i;
    else
      sessions_.wait(session);
  }
}

// Cells of all admitted sessions, with the one in the lane.
CellClaims AdmissionController::claims() const {
  CellClaims claims;
  for (const Session* session : sessions_.active()) {
    claims.sequences.push_back(session->sequence);
    claims.promised += session->pending() + foreseen(*session);
  }
  if (const Session* const aside = sessions_.aside()) claims.promised += held(*aside) + foreseen(*aside);
  return claims;
}

void AdmissionController::admit() {
  look_again_.reset();
  for (;;) {
    if (sessions_.waiting().empty()) return;
    if (!migrator_.ensure()) {
      look_again_ = kv_.explained_until();
      return;
    }
    provide_cells();
    if (!kv_.there() || admit_fitting()) return;
    if (!migrator_.grow(kv_.cells() + 1)) return;  // a larger memory holds more sessions at a time
  }
}

// Grows the memory for the next sessions in the queue, and a little ahead of them. A session that still doesn't fit
// ends before anything is computed, so that no other session loses cells for it.
void AdmissionController::provide_cells() {
  constexpr std::uint32_t kAhead = 512;
  if (!kv_.grows()) return;
  const auto queue =
      sessions_.waiting().first(std::min<std::size_t>(sessions_.waiting().size(), options_.max_sequences));
  const std::vector<Session*> next(queue.begin(), queue.end());
  for (Session* session : next) {
    if (!session->generation) continue;  // the allocation failed, and all generations have ended
    const std::uint32_t tokens = held(*session);
    const std::uint32_t wanted = tokens + std::min(session->remaining(), kAhead);
    if (wanted <= kv_.cells() || !kv_.there()) continue;
    if (!kv_.shape().unified()) migrator_.change(kv_.pool());
    migrator_.grow(wanted);
    if (tokens > kv_.cells()) migrator_.grow(tokens + 1);
    if (tokens <= kv_.cells() || !kv_.there() || !session->generation) continue;
    finisher_.finish(*session, FinishReason::context_full,
                     context_full({.needed = tokens + 1, .n_past = tokens, .n_ctx = kv_.cells()}));
  }
}

// Admits by the cells that active sessions have and will need. A session that is alone is always admitted.
Sequences::Attach AdmissionController::attach(Session& session) {
  std::optional<MonoTime>& since = session.reads.since;
  const std::uint64_t ended = *reads_ended_;
  const bool in_time = !since || clock_() < *since + options_.max_reading;
  const auto wait = [&] {
    const MonoTime end = *since + options_.max_reading;
    look_again_ = std::min(look_again_.value_or(end), end);
    return Sequences::Attach::reading;
  };
  if (since && in_time && session.reads.ended == ended) return wait();
  const CellClaims running = claims();
  const bool alone = sessions_.active().empty() && sessions_.aside() == nullptr;
  const Sequences::Attach attached = sequences_.attach(
      session, {.claims = alone ? nullptr : &running, .behind = foreseen(session), .may_read = in_time});
  if (attached != Sequences::Attach::reading) return attached;
  if (!since) since = clock_();
  session.reads.ended = ended;
  return wait();
}

std::uint32_t AdmissionController::background_running() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(sessions_.active(), [](const Session* one) { return one->generation->background; }));
}

// False: there are no cells for the first session in the queue.
bool AdmissionController::admit_fitting() {
  // A split layout admits as many sessions as it has parts. The session in the lane counts as admitted, but has no part
  // until it returns.
  const std::uint32_t admission =
      std::min(options_.max_sequences - (sessions_.aside() != nullptr ? 1 : 0), kv_->sequence_ids());
  std::uint32_t background = background_running();
  for (std::size_t i = 0; i < sessions_.waiting().size() && sessions_.active().size() < admission;) {
    Session& session = *sessions_.waiting()[i];
    Generation& generation = *session.generation;
    if (generation.background && background >= max_in_background(admission)) {
      ++i;
      continue;
    }
    const bool fresh = session.sequence < 0;
    // It gets no cells now: it would lose them again before the lane is free.
    if (generation.awaits_lane && lane_.makes_wait(session)) {
      ++i;
      continue;
    }
    // Another session may have its cells until then.
    if (generation.awaits_media && !media_.ready(session)) {
      if (session.generation) ++i;  // otherwise it has ended, and is no longer in the queue
      continue;
    }
    if (sessions_.blocks(session)) return false;
    faults_.session = &session;
    const Sequences::Attach attached = attach(session);
    faults_.session = nullptr;
    if (attached == Sequences::Attach::no_place) break;
    if (attached == Sequences::Attach::no_cells) {
      generation.awaits_lane = lane_.makes_wait(session);  // then it waits for the lane first
      if (!generation.awaits_lane) {
        sessions_.block_others(session);
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
    generation.awaits_lane = lane_.makes_wait(session);
    if (generation.awaits_lane) {  // it waits for the lane
      ++i;
      continue;
    }
    if (!media_.ready(session)) {
      if (session.generation) ++i;
      continue;
    }
    sessions_.activate(session);
    if (generation.background) ++background;
    // If the whole history is cached (after a stop string, for example), the last token is computed again for its
    // logits.
    if (session.pending() == 0 && generation.max_new_tokens > 0) sequences_.trim(session, session.in_cache - 1);
    if (!generation.first_pass) generation.usage.cached_tokens = session.in_cache;
  }
  return true;
}

// The other sessions have grown meanwhile: restore it only if there are cells for its history and some tokens more.
bool AdmissionController::put_back(const PrefillLaneController::LaneResult& home) {
  const CellDemand demand{.cells = held(home.session) + foreseen(home.session)};
  const bool room = sessions_.active().empty() || sequences_.cells().has_room(claims(), demand);
  return room && sequences_.put_back(home.session, home.tokens, home.bytes);
}

void AdmissionController::take_home(PrefillLaneController::LaneResult home) {
  Session& session = home.session;
  const auto seen_to = [&] {
    if (!migrator_.ensure()) return;
    bool is_back = home.tokens < kv_->cells_per_sequence() && put_back(home);
    if (!is_back && !kv_.shape().unified()) {
      migrator_.change(kv_.pool());
      faults_.session = kv_.there() && session.generation ? &session : nullptr;
      if (faults_.session == nullptr) return;  // the allocation failed
      is_back = put_back(home);
    }
    if (is_back) {
      sessions_.activate(session);
    } else {
      // The running streams have all cells: it waits as after a preemption.
      sequences_.park_saved(session, home.tokens, std::move(home.bytes));
    }
  };
  seen_to();
  faults_.session = nullptr;
}

bool AdmissionController::find_cells(const Pass& pass) {
  std::uint32_t tokens = 0;
  for (const PassItem& item : pass.items) {
    tokens += item.tokens;
    if (item.session->in_cache + item.tokens > kv_->cells_per_sequence() && kv_->counts_cells()) return false;
  }
  return sequences_.free_up(tokens);
}

void AdmissionController::make_room() {
  // A part of a split layout is never larger than a unified memory, in which any session can use all cells.
  if (!kv_.shape().unified() && options_.layout != KvLayout::split) {
    migrator_.change(kv_.pool());
    return;
  }
  if (migrator_.grow(kv_.cells() + 1)) return;
  const auto running = sessions_.active();
  Session& newest =
      **std::ranges::max_element(running, {}, [](const Session* session) { return session->generation->order; });
  if (kv_.shape().unified() && running.size() > 1) {
    preempt(newest);
    return;
  }
  Session& longest =
      **std::ranges::max_element(running, {}, [](const Session* session) { return session->history.size(); });
  finisher_.finish(
      longest, FinishReason::context_full,
      context_full({.needed = longest.history.size(), .n_past = longest.in_cache, .n_ctx = kv_->cells_per_sequence()}));
}

void AdmissionController::preempt(Session& session) {
  sequences_.give_up(session, Sequences::Leave::copy);
  sessions_.wait(session);
  ++counters_.preemptions;
}

}  // namespace corral::engine
