#include "engine/cache/sequences.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace corral::engine {
namespace {

// Sessions and cached prefixes are owners in one index.
std::uint64_t owner_of(const Session& session) { return session.id() * 2; }
std::uint64_t owner_of_prefix(std::uint64_t number) { return number * 2 + 1; }
bool is_prefix(std::uint64_t owner) { return owner % 2 == 1; }

}  // namespace

Sequences::Sequences(const SessionTable& sessions, std::shared_ptr<ParkedStore> store, std::uint32_t prefix_tokens)
    : sessions_(sessions), parking_(std::move(store)), max_prefix_tokens_(prefix_tokens) {}

void Sequences::bind(KvMemory* memory) {
  memory_ = memory;
  ledger_.bind(memory);
  free_ids_.clear();
  if (memory == nullptr) return;
  const std::int32_t first = memory->first_sequence();
  for (auto i = static_cast<std::int32_t>(memory->sequence_ids()); i-- > 0;) free_ids_.push_back(first + i);
}

void Sequences::forget_all() noexcept {
  for (Session& session : sessions_.all()) {
    session.sequence = -1;
    session.in_cache = session.borrowed = 0;
  }
  in_sessions_ = prefix_tokens_ = 0;
  prefixes_.clear();
  index_.clear();
  free_ids_.clear();
  memory_ = nullptr;
  ledger_.bind(nullptr);
}

void Sequences::remove(Session& session) {
  give_up(session, Leave::prefix);
  parking_.forget_own(session);
  index_.erase(session.shared->adapters, owner_of(session));
}

void Sequences::set_cached(Session& session, std::uint32_t tokens) {
  in_sessions_ += tokens - session.in_cache;
  session.in_cache = tokens;
  session.borrowed = std::min(session.borrowed, tokens);
}

void Sequences::free_id(std::int32_t sequence) {
  memory_->clear(sequence);
  // The smallest ids are used first: fewer distinct ones in a pass.
  free_ids_.insert(std::ranges::lower_bound(free_ids_, sequence, std::greater<>{}), sequence);
}

void Sequences::give_up(Session& session, Leave leave) {
  if (leave != Leave::claim) index_.erase(session.shared->adapters, owner_of(session));
  if (session.sequence < 0) return;
  if (leave == Leave::prefix) {
    const bool worth = shares(session) && session.in_cache >= kLeastShared;
    if (worth && keep(session)) return;
    leave = worth ? Leave::copy : Leave::nothing;  // a saved state serves a history that continues from it
  }
  if (leave == Leave::copy) park(session);
  free_id(session.sequence);
  session.sequence = -1;
  set_cached(session, 0);
}

// Turns the cells of a session that ends into a cached prefix for the next turn. False if that is not possible.
bool Sequences::keep(Session& session) {
  if (!memory_->divisible() || session.in_cache > max_prefix_tokens_) return false;
  const std::uint64_t owner = owner_of_prefix(next_prefix_++);
  Prefix prefix{owner,
                session.sequence,
                {session.history.begin(), session.history.begin() + session.in_cache},
                session.shared->adapters};
  // Prefixes of this one are no longer needed.
  for (auto it = prefixes_.begin(); it != prefixes_.end();) {
    const auto old = it++;
    if (old->adapters == prefix.adapters && old->tokens.size() <= prefix.tokens.size() &&
        memory_->can_cut(prefix.sequence, static_cast<std::uint32_t>(old->tokens.size())) &&
        std::ranges::equal(old->tokens, std::span(prefix.tokens).first(old->tokens.size()))) {
      prefix_tokens_ -= static_cast<std::uint32_t>(old->tokens.size());
      index_.erase(old->adapters, old->owner);
      free_id(old->sequence);
      prefixes_.erase(old);
    }
  }
  prefix_tokens_ += session.in_cache;
  index_.set(prefix.adapters, owner, prefix.tokens);
  prefixes_.push_back(std::move(prefix));
  session.sequence = -1;
  set_cached(session, 0);
  while (prefix_tokens_ > max_prefix_tokens_) evict(prefixes_.begin());
  return true;
}

void Sequences::park(Session& session) {
  if (parks_for_all(session)) {
    park_for_all(session.sequence, std::span(session.history).first(session.in_cache));
  } else if (parking_.takes(session.in_cache)) {
    parking_.put_own(session, session.in_cache, save(session));
  }
}

void Sequences::park(const Prefix& prefix) {
  if (prefix.adapters.empty()) park_for_all(prefix.sequence, prefix.tokens);
}

void Sequences::park_for_all(std::int32_t sequence, std::span<const Token> tokens) {
  if (parking_.takes(tokens.size()) && !parking_.covers(tokens)) parking_.put(tokens, memory_->save(sequence));
}

void Sequences::evict(PrefixList::iterator prefix) {
  park(*prefix);
  prefix_tokens_ -= static_cast<std::uint32_t>(prefix->tokens.size());
  index_.erase(prefix->adapters, prefix->owner);
  free_id(prefix->sequence);
  prefixes_.erase(prefix);
}

bool Sequences::take_id(Session& session) {
  while (free_ids_.empty()) {
    if (!reclaim(Want::id)) return false;
  }
  session.sequence = free_ids_.back();
  free_ids_.pop_back();
  return true;
}

Sequences::Attach Sequences::attach(Session& session, const Terms& terms) {
  const auto room = [&](const CellDemand& demand) {
    return terms.claims == nullptr || ledger_.has_room(*terms.claims, demand);
  };
  const auto size = static_cast<std::uint32_t>(session.history.size());
  if (session.sequence >= 0) {
    const CellDemand demand{
        .cells = session.pending() + terms.behind, .source = session.sequence, .shared = session.in_cache};
    return room(demand) ? Attach::done : Attach::no_cells;
  }
  if (!shares(session)) {
    if (!room({.cells = size + terms.behind})) return Attach::no_cells;
    if (!take_id(session)) return Attach::no_place;
    restore_own(session);
    return Attach::done;
  }
  // The last token is always computed: the session needs its logits.
  const auto wanted = std::span<const Token>(session.history).first(session.history.size() - 1);
  bool being_computed = false;
  const Source source = memory_->divisible() ? best_source(session, wanted, being_computed) : Source{};
  if (being_computed) return Attach::later;
  CellDemand demand{.cells = size + terms.behind};
  if (source.length >= kLeastShared) {
    demand = {.cells = size - source.length + terms.behind,
              .source = source.session != nullptr ? source.session->sequence : source.prefix->sequence,
              .shared = source.length};
  }
  if (!room(demand)) return Attach::no_cells;
  auto [parked, coming] = find_parked(session, wanted, source.length, terms.may_read);
  if (coming) return Attach::reading;
  // Restored KV needs cells of its own, even if other sessions have the same tokens. If there are too few, compute the
  // rest if it is short.
  if (parked && !room({.cells = size + terms.behind})) {
    if (source.length * 2 < parked->length) return Attach::no_cells;
    parked.reset();
  }
  const bool from_prefix = source.length >= kLeastShared && source.session == nullptr;
  if (parked || !from_prefix || !adopt(session, source.prefix, source.length)) {
    // The source must not be the victim whose id is reclaimed.
    if (from_prefix) prefixes_.splice(prefixes_.end(), prefixes_, source.prefix);
    if (source.session != nullptr)
      source.session->last_used = session.last_used = std::max(source.session->last_used, session.last_used);
    if (!take_id(session)) return Attach::no_place;
    // Each step may have reclaimed cells of others: search again.
    if (!parked || !restore(session, *parked)) share(session, best_source(session, wanted, being_computed));
  }
  if (memory_->divisible()) index_.set(session.shared->adapters, owner_of(session), session.history);
  if (!parks_for_all(session)) parking_.forget_own(session);
  session.reads = {};
  return Attach::done;
}

// Parked KV for all sessions, or of this session alone.
Parking::Found Sequences::find_parked(Session& session, std::span<const Token> wanted, std::uint32_t least,
                                      bool may_read) {
  Parking::Found found = parks_for_all(session) ? parking_.find(session, wanted, least, may_read)
                                                : Parking::Found{.hit = parking_.own(session)};
  if (!found.hit) return found;
  if (memory_->divisible()) found.hit->length = outside_media(session.media, found.hit->length);
  if (found.hit->length < least + kLeastShared) found.hit.reset();
  return found;
}

// Whether to wait for a prefix that another session will have. A session in the lane, or one that waits for it, brings
// its whole prompt at once: then much of that must be useful.
bool Sequences::worth_waiting(const Session& other, std::uint32_t beginning) {
  switch (other.phase()) {
    case Phase::active:
      return true;
    case Phase::aside:
      return beginning * 2 >= other.history.size();
    case Phase::waiting:
      return other.sequence >= 0 && beginning * 2 >= other.history.size();
    default:
      return false;
  }
}

// The sequence with the longest common prefix. `being_computed`: another session will soon have a longer one.
Sequences::Source Sequences::best_source(const Session& session, std::span<const Token> wanted, bool& being_computed) {
  Source best;
  std::uint32_t coming = 0;
  if (!memory_->divisible()) return best;
  index_.visit(session.shared->adapters, wanted, kLeastShared, [&](RadixIndex::Match match) {
    match.length = outside_media(session.media, match.length);
    if (match.length <= best.length) return true;  // the rest is no longer
    if (is_prefix(match.owner)) {
      const auto prefix = std::ranges::find(prefixes_, match.owner, &Prefix::owner);
      if (memory_->can_cut(prefix->sequence, match.length))
        best = {.length = match.length, .session = nullptr, .prefix = prefix};
      return false;
    }
    Session* const found = sessions_.find(SessionId(match.owner / 2));
    if (found == nullptr || found == &session) return false;
    Session& other = *found;
    const std::uint32_t there = outside_media(session.media, std::min(match.length, other.in_cache));
    if (there > best.length && memory_->can_cut(other.sequence, there))
      best = {.length = there, .session = &other, .prefix = {}};
    if (other.in_cache < match.length && worth_waiting(other, match.length)) coming = std::max(coming, match.length);
    return false;
  });
  being_computed = coming >= best.length + kWorthWaiting;
  return best;
}

void Sequences::share(Session& session, const Source& source) {
  if (source.length < kLeastShared) return;
  const std::int32_t from = source.session != nullptr ? source.session->sequence : source.prefix->sequence;
  if (!memory_->share(from, session.sequence, source.length)) {
    memory_->clear(session.sequence);
    return;
  }
  set_cached(session, source.length);
  session.borrowed = source.length;
}

// Takes a cached prefix over instead of sharing it, if little of it is lost.
bool Sequences::adopt(Session& session, PrefixList::iterator prefix, std::uint32_t length) {
  const auto tokens = static_cast<std::uint32_t>(prefix->tokens.size());
  const bool cheap_to_share = memory_->shape().unified();
  if (cheap_to_share ? length + kLeastShared < tokens : length * 2 < tokens) return false;
  if (!cheap_to_share && tokens - length >= Parking::kLeast) park(*prefix);
  session.sequence = prefix->sequence;
  prefix_tokens_ -= tokens;
  index_.erase(prefix->adapters, prefix->owner);
  prefixes_.erase(prefix);
  set_cached(session, tokens);
  trim(session, length);
  return true;
}

bool Sequences::restore(Session& session, const ParkedStore::Hit& hit) {
  const Parked& parked = *hit.parked;
  const auto cells = static_cast<std::uint32_t>(parked.tokens.size());
  // Without enough free cells, no cells are reclaimed and nothing is copied.
  if (!free_up(cells, &session)) return false;
  if (!memory_->restore(session.sequence, parked.bytes)) {
    if (ledger_.common()) parking_.erase(hit);  // the saved bytes are invalid
    return false;
  }
  parking_.put_back(hit);
  set_cached(session, cells);
  trim(session, hit.length);
  return session.in_cache > 0;
}

// Restores the own entry of a session that doesn't share. Afterwards, or if the entry is of no use, forgets it.
void Sequences::restore_own(Session& session) {
  const auto hit = parking_.own(session);
  if (!hit || restore(session, *hit)) parking_.forget_own(session);
}

void Sequences::park_saved(Session& session, std::uint32_t tokens, std::vector<std::uint8_t> bytes) {
  if (!parking_.takes(tokens)) return;
  if (parks_for_all(session)) {
    parking_.put(std::span(session.history).first(tokens), std::move(bytes));
  } else {
    parking_.put_own(session, tokens, std::move(bytes));
  }
}

bool Sequences::put_back(Session& session, std::uint32_t tokens, std::span<const std::uint8_t> bytes) {
  if (bytes.empty() && tokens > 0) return false;
  if (!take_id(session)) return false;
  const bool room = free_up(tokens, &session);
  if (tokens == 0 || (room && memory_->restore(session.sequence, bytes))) {
    set_cached(session, tokens);
    if (shares(session) && memory_->divisible())
      index_.set(session.shared->adapters, owner_of(session), session.history);
    return true;
  }
  give_up(session, Leave::nothing);
  return false;
}

void Sequences::discard_behind(Session& session) {
  if (!memory_->trim(session.sequence, session.in_cache)) set_cached(session, 0);
}

bool Sequences::own_all_cells(Session& session) {
  if (memory_->own_cells(session.sequence) == session.in_cache) return true;
  const auto bytes = save(session);
  memory_->clear(session.sequence);
  const std::uint32_t tokens = session.in_cache;
  set_cached(session, 0);
  if (bytes.empty() || !free_up(tokens, &session) || !memory_->restore(session.sequence, bytes)) return false;
  set_cached(session, tokens);
  return true;
}

bool Sequences::shift(Session& session, const ContextCut& cut) {
  if (!memory_->can_shift() || session.sequence < 0) return false;
  discard_behind(session);
  index_.erase(session.shared->adapters, owner_of(session));
  parking_.forget_own(session);
  session.shifted = true;
  cut_media(session.media, cut);
  const auto from = session.history.begin() + cut.keep;
  const bool own = own_all_cells(session);
  const bool moved =
      own && session.in_cache >= cut.keep + cut.discard && memory_->shift(session.sequence, cut.keep, cut.discard);
  session.history.erase(from, from + cut.discard);
  session.moved = moved;
  if (moved) {
    set_cached(session, session.in_cache - cut.discard);
  } else {
    memory_->clear(session.sequence);
    set_cached(session, 0);
  }
  return true;
}

void Sequences::trim(Session& session, std::uint32_t tokens) {
  if (session.in_cache <= tokens) return;
  set_cached(session, memory_->trim(session.sequence, tokens) ? tokens : 0);
}

void Sequences::resync(Session& session) {
  if (session.sequence < 0) return;
  const std::uint32_t there = memory_->length(session.sequence);
  const auto max = static_cast<std::uint32_t>(session.history.size()) - 1;  // one must stay pending
  set_cached(session, there);
  const std::uint32_t whole = outside_media(session.media, there);
  // After an interrupted pass the position of a state is unknown: compute it again.
  if (!memory_->divisible()) {
    trim(session, 0);
  } else if (there > max) {
    trim(session, max);
  } else if (there > whole) {
    trim(session, whole);
  }
}

void Sequences::give_up_lost() {
  if (memory_->divisible()) return;
  for (Session& session : sessions_.all()) {
    if (session.sequence < 0 || memory_->length(session.sequence) >= session.in_cache) continue;
    if (session.phase() == Phase::active) {
      resync(session);
    } else {
      give_up(session, Leave::nothing);
    }
  }
}

bool Sequences::may_be_cut(const Session& alone) const {
  return std::ranges::none_of(sessions_.all(),
                              [&](const Session& other) { return &other != &alone && other.in_cache > 0; });
}

void Sequences::settle(Session& session) {
  if (session.sequence >= 0 && shares(session) && memory_->divisible())
    index_.set(session.shared->adapters, owner_of(session),
               std::span<const Token>(session.history).first(session.in_cache));
}

// Sequences of the active sessions and of `spared`.
std::vector<std::int32_t> Sequences::of_running(const Session* spared) const {
  std::vector<std::int32_t> running;
  running.reserve(sessions_.active().size() + 1);
  for (const Session* session : sessions_.active()) {
    if (session->sequence >= 0) running.push_back(session->sequence);
  }
  if (spared != nullptr && spared->phase() != Phase::active && spared->sequence >= 0)
    running.push_back(spared->sequence);
  return running;
}

bool Sequences::free_up(std::uint32_t cells, const Session* spared) {
  if (!ledger_.common() || ledger_.free() >= cells) return true;
  if (ledger_.free() + ledger_.idle(of_running(spared)) < cells) return false;
  while (ledger_.free() < cells) {
    if (!reclaim(Want::cells, spared)) return false;
  }
  return true;
}

// For cells, prefers victims that have cells of their own: to take a sequence that shares all its cells frees nothing.
bool Sequences::reclaim(Want want, const Session* spared) {
  const auto gives = [&](std::int32_t sequence) { return want == Want::id || ledger_.gain(sequence) > 0; };
  if (const auto prefix = std::ranges::find_if(prefixes_, gives, &Prefix::sequence); prefix != prefixes_.end()) {
    evict(prefix);
    return true;
  }
  Session* victim = nullptr;
  Session* sharing = nullptr;  // all of its cells
  for (Session& session : sessions_.all()) {
    if (session.sequence < 0 || session.phase() == Phase::active || &session == spared) continue;
    if (!gives(session.sequence)) {
      if (sharing == nullptr) sharing = &session;
      continue;
    }
    if (victim == nullptr || session.last_used < victim->last_used) victim = &session;
  }
  if (victim != nullptr) {
    give_up(*victim, Leave::copy);
    return true;
  }
  // Several idle sequences share all their cells with each other: evicting one frees nothing yet.
  if (!prefixes_.empty()) {
    evict(prefixes_.begin());
    return true;
  }
  if (sharing == nullptr) return false;
  give_up(*sharing, Leave::copy);
  return true;
}

void Sequences::park_all() {
  if (memory_ == nullptr) return;
  while (!prefixes_.empty()) evict(prefixes_.begin());
  for (Session& session : sessions_.all()) give_up(session, Leave::copy);
}

void Sequences::compact() {
  if (memory_ == nullptr || memory_->shape().unified()) return;
  std::vector<Session*> running;
  std::ranges::copy_if(sessions_.active(), std::back_inserter(running),
                       [](const Session* session) { return session->sequence >= 0; });
  std::ranges::sort(running, {}, &Session::sequence);
  for (std::int32_t low = 0; low < static_cast<std::int32_t>(running.size()); ++low) {
    Session& last = *running.back();
    if (running[static_cast<std::size_t>(low)]->sequence == low) continue;
    // The sequence with this id belongs to no active session.
    if (const auto prefix = std::ranges::find(prefixes_, low, &Prefix::sequence); prefix != prefixes_.end())
      evict(prefix);
    for (Session& session : sessions_.all()) {
      if (session.sequence == low) give_up(session, Leave::copy);
    }
    const std::int32_t from = last.sequence;
    std::erase(free_ids_, low);
    if (memory_->share(from, low, last.in_cache)) {
      last.sequence = low;
    } else {
      last.sequence = low;
      set_cached(last, 0);
    }
    free_id(from);
    running.pop_back();
    running.insert(running.begin() + low, &last);
  }
}

std::uint32_t Sequences::idle_cells() const {
  if (ledger_.common()) {
    const auto running = static_cast<std::size_t>(
        std::ranges::count_if(sessions_.active(), [](const Session* session) { return session->sequence >= 0; }));
    const bool all_run = running + free_ids_.size() == memory_->sequence_ids();
    return all_run ? 0 : ledger_.idle(of_running());
  }
  std::uint32_t cells = used_cells();
  for (const Session* session : sessions_.active()) cells -= session->in_cache;
  return cells;
}

}  // namespace corral::engine
