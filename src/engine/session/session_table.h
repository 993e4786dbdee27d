// The sessions of a worker by state. The lists of those that run, wait and are paused change
// together with what a session says of itself (Session::phase): one verb for each state, from whatever state it comes.
// Only add() can fail; so whatever else goes wrong in a worker, no list and no session disagree. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/schedule/turn_order.h"
#include "engine/session/session.h"

namespace corral::engine {

class SessionTable {
 public:
  // It is idle. If this throws nothing was changed.
  Session& add(std::shared_ptr<SessionShared> shared, bool share);
  // It is idle and goes away.
  void remove(Session& session) noexcept;
  Session* find(SessionId id) const noexcept;
  std::size_t size() const { return sessions_.size(); }
  // In no order.
  auto all() const {
    return sessions_ | std::views::transform([](const auto& entry) -> Session& { return *entry.second; });
  }

  // --- Who stands where ---
  std::span<Session* const> active() const { return active_; }    // as they came
  std::span<Session* const> waiting() const { return waiting_; }  // whose turn it is first, first
  std::span<Session* const> paused() const { return paused_; }
  Session* aside() const { return aside_; }  // nullptr: nobody
  std::uint32_t generating() const;          // all of these
  // From 1 on, of one that waits.
  std::uint32_t place_in_queue(const Session& session) const;
  // Of those that run.
  std::uint32_t decoding() const;

  // Gives its generation, which has just come, its turn. Throws std::bad_alloc.
  void line_up(Generation& generation) { generation.order = turns_.enter(generation.client, generation.background); }

  // --- The verbs. The session has a generation. ---
  // In its turn, however it came to wait: who comes back has the turn that it had.
  void wait(Session& session) noexcept;
  void activate(Session& session) noexcept;
  void pause(Session& session) noexcept;
  // Nobody else is.
  void set_aside(Session& session) noexcept;
  // Its generation ends. It may be idle already.
  void rest(Session& session) noexcept;

  // --- Who stands first and found no cells ---
  // Nobody behind it goes first. It lasts until somebody loses a place or ends, or there are cells for another reason.
  void block_others(const Session& session) { blocking_ = &session; }
  bool blocks(const Session& session) const { return blocking_ == &session; }
  void unblock() noexcept { blocking_ = nullptr; }

  // --- Time, in passes ---
  void next_pass() { ++pass_; }
  // It counts as used in this pass.
  void use(Session& session) const noexcept { session.last_used = pass_; }

 private:
  // The one that may say where a session stands.
  struct Listed : Session {
    using Session::phase_;
    using Session::Session;
  };

  std::vector<Session*>::iterator turn_of(const Session& session) noexcept;
  void enter(Session& session, Phase phase) noexcept;
  // It waits no more, and where it stands now.
  void note_turn(Generation& generation, Phase phase) noexcept;

  std::unordered_map<std::uint64_t, std::unique_ptr<Listed>> sessions_;
  // Each has room for all sessions.
  std::vector<Session*> active_, waiting_, paused_;
  Session* aside_ = nullptr;
  const Session* blocking_ = nullptr;
  TurnOrder turns_;
  std::uint64_t pass_ = 0;
};

}  // namespace corral::engine
