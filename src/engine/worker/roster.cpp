#include "engine/worker/roster.h"

#include <algorithm>
#include <utility>

namespace corral::engine {
namespace {

std::uint64_t age(const Session* session) { return session->generation->order; }

}  // namespace

Session& Roster::add(std::shared_ptr<SessionShared> shared, bool share) {
  auto session = std::make_unique<Listed>(std::move(shared), share);
  const std::size_t size = sessions_.size() + 1;
  for (std::vector<Session*>* const list : {&active_, &waiting_, &paused_}) {
    if (list->capacity() < size) list->reserve(2 * size);
  }
  const std::uint64_t id = session->id();
  return *sessions_.emplace(id, std::move(session)).first->second;
}

void Roster::remove(Session& session) noexcept { sessions_.erase(session.id()); }

Session* Roster::find(SessionId id) const noexcept {
  const auto found = sessions_.find(id.value());
  return found == sessions_.end() ? nullptr : found->second.get();
}

std::uint32_t Roster::generating() const {
  return static_cast<std::uint32_t>(active_.size() + waiting_.size() + paused_.size() + (aside_ != nullptr ? 1 : 0));
}

std::uint32_t Roster::decoding() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(active_, &Session::decoding));
}

// The first of those that wait who isn't older.
std::vector<Session*>::iterator Roster::turn_of(const Session& session) noexcept {
  return std::ranges::lower_bound(waiting_, age(&session), {}, age);
}

std::uint32_t Roster::place_in_queue(const Session& session) const {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(waiting_, age(&session), {}, age) - waiting_.begin()) + 1;
}

void Roster::enter(Session& session, Phase phase) noexcept {
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

void Roster::note_turn(Generation& generation, Phase phase) noexcept {
  if (generation.began) return;
  if (phase == Phase::active) {
    generation.began = true;
    turns_.began(generation.order, generation.client, generation.background);
  } else if (phase == Phase::idle) {
    turns_.left(generation.order, generation.client, generation.background);
  }
}

void Roster::wait(Session& session) noexcept {
  // Its cells can be had, or it counts for what it has, no more for what it may come to.
  if (session.phase() == Phase::active || session.phase() == Phase::aside) feed();
  enter(session, Phase::waiting);
  waiting_.insert(turn_of(session), &session);
}

void Roster::activate(Session& session) noexcept {
  enter(session, Phase::active);
  active_.push_back(&session);
}

void Roster::pause(Session& session) noexcept {
  enter(session, Phase::paused);
  paused_.push_back(&session);
  feed();
}

void Roster::set_aside(Session& session) noexcept {
  enter(session, Phase::aside);
  aside_ = &session;
}

void Roster::rest(Session& session) noexcept {
  enter(session, Phase::idle);
  feed();
}

}  // namespace corral::engine
