#include "engine/worker/places.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

// Tokens of its answer that are counted as if they were in cells.
std::uint32_t foreseen(const Session& session) { return std::min(session.remaining(), kPromisedTokens); }

// Of the places: the rest is there for whoever comes and doesn't want to wait.
std::uint32_t most_in_background(std::uint32_t places) { return std::max(places * 3 / 4, 1u); }

std::uint32_t held(const Session& session) { return static_cast<std::uint32_t>(session.history.size()); }

}  // namespace

Places::Places(Parts parts, const WorkerOptions& options)
    : options_(options),
      clock_(std::move(parts.clock)),
      reads_ended_(std::move(parts.reads_ended)),
      roster_(parts.roster),
      sequences_(parts.sequences),
      keeper_(parts.keeper),
      mover_(parts.mover),
      lane_(parts.lane),
      endings_(parts.endings),
      hand_(parts.hand),
      counters_(parts.counters) {}

void Places::resume_paused() {
  for (std::size_t i = 0; i < roster_.paused().size();) {
    Session& session = *roster_.paused()[i];
    if (session.generation->stream->full())
      ++i;
    else
      roster_.wait(session);
  }
}

// Of those that have a place, in the lane too.
CellClaims Places::claims() const {
  CellClaims claims;
  for (const Session* session : roster_.active()) {
    claims.sequences.push_back(session->sequence);
    claims.promised += session->pending() + foreseen(*session);
  }
  if (const Session* const aside = roster_.aside()) claims.promised += held(*aside) + foreseen(*aside);
  return claims;
}

void Places::admit() {
  look_again_.reset();
  for (;;) {
    if (roster_.waiting().empty()) return;
    if (!mover_.ensure()) {
      look_again_ = keeper_.explained_until();
      return;
    }
    provide_cells();
    if (!keeper_.there() || admit_who_fits()) return;
    if (!mover_.grow(keeper_.cells() + 1)) return;  // a larger pool has room for more at a time
  }
}

// Cells for those that come next, and a little ahead of them. Who can't have them is told before anything is computed:
// others would give up theirs for nothing.
void Places::provide_cells() {
  constexpr std::uint32_t kAhead = 512;
  if (!keeper_.grows()) return;
  const auto queue = roster_.waiting().first(std::min<std::size_t>(roster_.waiting().size(), options_.max_sequences));
  const std::vector<Session*> next(queue.begin(), queue.end());
  for (Session* session : next) {
    if (!session->generation) continue;  // there was no memory, and everything has ended
    const std::uint32_t tokens = held(*session);
    const std::uint32_t wanted = tokens + std::min(session->remaining(), kAhead);
    if (wanted <= keeper_.cells() || !keeper_.there()) continue;
    if (!keeper_.shape().unified()) mover_.change(keeper_.pool());
    mover_.grow(wanted);
    if (tokens > keeper_.cells()) mover_.grow(tokens + 1);
    if (tokens <= keeper_.cells() || !keeper_.there() || !session->generation) continue;
    endings_.finish(*session, StopReason::context_full,
                    context_full({.needed = tokens + 1, .n_past = tokens, .n_ctx = keeper_.cells()}));
  }
}

// By what those that run have and will take; who is alone gets on, whatever can be foreseen.
Sequences::Attach Places::attach(Session& session) {
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

std::uint32_t Places::background_running() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(roster_.active(), [](const Session* one) { return one->generation->background; }));
}

// False: there are no cells for who stands first.
bool Places::admit_who_fits() {
  // With parts for each, not more than there are parts. Who is in the lane has a place, but no part until it is back.
  const std::uint32_t places =
      std::min(options_.max_sequences - (roster_.aside() != nullptr ? 1 : 0), keeper_->sequence_ids());
  std::uint32_t background = background_running();
  for (std::size_t i = 0; i < roster_.waiting().size() && roster_.active().size() < places;) {
    Session& session = *roster_.waiting()[i];
    Generation& generation = *session.generation;
    if (generation.background && background >= most_in_background(places)) {
      ++i;
      continue;
    }
    const bool fresh = session.sequence < 0;
    // Without cells it stays without: it would only lose them again before its turn.
    if (generation.awaits_lane && lane_.makes_wait(session)) {
      ++i;
      continue;
    }
    if (roster_.starves(session)) return false;
    hand_.session = &session;
    const Sequences::Attach attached = attach(session);
    hand_.session = nullptr;
    if (attached == Sequences::Attach::no_place) break;
    if (attached == Sequences::Attach::no_cells) {
      generation.awaits_lane = lane_.makes_wait(session);  // that comes first then
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
    generation.awaits_lane = lane_.makes_wait(session);
    if (generation.awaits_lane) {  // its turn comes
      ++i;
      continue;
    }
    roster_.activate(session);
    if (generation.background) ++background;
    // After a stop string or an even turn everything is in the cache: the last token is computed again for its logits.
    if (session.pending() == 0 && generation.max_new_tokens > 0) sequences_.trim(session, session.in_cache - 1);
    if (!generation.first_pass) generation.usage.cached_tokens = session.in_cache;
  }
  return true;
}

// The others have gone on meanwhile: it must be able to stay.
bool Places::put_back(const LaneDesk::Home& home) {
  const CellDemand demand{.cells = held(home.session) + foreseen(home.session)};
  const bool room = roster_.active().empty() || sequences_.cells().has_room(claims(), demand);
  return room && sequences_.put_back(home.session, home.tokens, home.bytes);
}

void Places::take_home(LaneDesk::Home home) {
  Session& session = home.session;
  const auto seen_to = [&] {
    if (!mover_.ensure()) return;
    bool is_back = home.tokens < keeper_->cells_per_sequence() && put_back(home);
    if (!is_back && !keeper_.shape().unified()) {
      mover_.change(keeper_.pool());
      hand_.session = keeper_.there() && session.generation ? &session : nullptr;
      if (hand_.session == nullptr) return;  // there was no memory
      is_back = put_back(home);
    }
    if (is_back) {
      roster_.activate(session);
    } else {
      // The running streams have all cells: it waits, as one that was preempted.
      sequences_.park_saved(session, home.tokens, std::move(home.bytes));
    }
  };
  seen_to();
  hand_.session = nullptr;
}

bool Places::find_cells(const Pass& pass) {
  std::uint32_t tokens = 0;
  for (const PassItem& item : pass.items) {
    tokens += item.tokens;
    if (item.session->in_cache + item.tokens > keeper_->cells_per_sequence() && keeper_->counts_cells()) return false;
  }
  return sequences_.free_up(tokens);
}

void Places::make_room() {
  // A part of a split layout is never larger than the pool: there, everybody's cells are for all.
  if (!keeper_.shape().unified() && options_.layout != KvLayout::split) {
    mover_.change(keeper_.pool());
    return;
  }
  if (mover_.grow(keeper_.cells() + 1)) return;
  const auto running = roster_.active();
  Session& newest =
      **std::ranges::max_element(running, {}, [](const Session* session) { return session->generation->order; });
  if (keeper_.shape().unified() && running.size() > 1) {
    preempt(newest);
    return;
  }
  Session& longest =
      **std::ranges::max_element(running, {}, [](const Session* session) { return session->history.size(); });
  endings_.finish(
      longest, StopReason::context_full,
      context_full(
          {.needed = longest.history.size(), .n_past = longest.in_cache, .n_ctx = keeper_->cells_per_sequence()}));
}

void Places::preempt(Session& session) {
  sequences_.give_up(session, Sequences::Leave::copy);
  roster_.wait(session);
  ++counters_.preemptions;
}

}  // namespace corral::engine
