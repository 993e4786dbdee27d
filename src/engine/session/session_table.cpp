#include "engine/session/session_table.h"

#include <algorithm>
#include <utility>

namespace corral::engine {
namespace {

std::uint64_t age(const Session* session) { return session->generation->order; }

}  // namespace

Session& SessionTable::add(std::shared_ptr<SessionShared> shared, bool share) {
  auto session = std::make_unique<Listed>(std::move(shared), share);
  const std::size_t size = sessions_.size() + 1;
  for (std::vector<Session*>* const list : {&active_, &waiting_, &paused_}) {
    if (list->capacity() < size) list->reserve(2 * size);
  }
  const std::uint64_t id = session->id();
  return *sessions_.emplace(id, std::move(session)).first->second;
}

void SessionTable::remove(Session& session) noexcept { sessions_.erase(session.id()); }

Session* SessionTable::find(SessionId id) const noexcept {
  const auto found = sessions_.find(id.value());
  return found == sessions_.end() ? nullptr : found->second.get();
}

std::uint32_t SessionTable::generating() const {
  return static_cast<std::uint32_t>(active_.size() + waiting_.size() + paused_.size() + (aside_ != nullptr ? 1 : 0));
}

std::uint32_t SessionTable::decoding() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(active_, &Session::decoding));
}

// The first waiting session that isn't older.
std::vector<Session*>::iterator SessionTable::turn_of(const Session& session) noexcept {
  return std::ranges::lower_bound(waiting_, age(&session), {}, age);
}

std::uint32_t SessionTable::place_in_queue(const Session& session) const {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(waiting_, age(&session), {}, age) - waiting_.begin()) + 1;
}

void SessionTable::enter(Session& session, Phase phase) noexcept {
  switch (std::exchange(static_cast<Listed&>(session).phase_, phase)) {
    case Phase::idle:
      break;
    case Phase::waiting:
      waiting_.erase(turn_of(session));
      note_turn(*session.generation, phase);
      break;
    case Phase::active:
      std::erase(active_, &session);
      break;
    case Phase::paused:
      std::erase(paused_, &session);
      break;
    case Phase::aside:
      aside_ = nullptr;
      break;
  }
}

void SessionTable::note_turn(Generation& generation, Phase phase) noexcept {
  if (generation.began) return;
  if (phase == Phase::active) {
    generation.began = true;
    turns_.began(generation.order, generation.client, generation.background);
  } else if (phase == Phase::idle) {
    turns_.left(generation.order, generation.client, generation.background);
  }
}

void SessionTable::wait(Session& session) noexcept {
  // Its cells can be reclaimed now, and none are reserved for it any longer.
  if (session.phase() == Phase::active || session.phase() == Phase::aside) unblock();
  enter(session, Phase::waiting);
  waiting_.insert(turn_of(session), &session);
}

void SessionTable::activate(Session& session) noexcept {
  enter(session, Phase::active);
  active_.push_back(&session);
}

void SessionTable::pause(Session& session) noexcept {
  enter(session, Phase::paused);
  paused_.push_back(&session);
  unblock();
}

void SessionTable::set_aside(Session& session) noexcept {
  enter(session, Phase::aside);
  aside_ = &session;
}

void SessionTable::rest(Session& session) noexcept {
  enter(session, Phase::idle);
  unblock();
}

}  // namespace corral::engine
