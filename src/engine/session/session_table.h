// The sessions of an engine worker by state. One verb for each state moves a session between the lists (active,
// waiting, paused) and sets Session::phase. Only add() can fail, so lists and sessions agree after every failure. One
// thread.
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
  // The new session is idle. If this throws, nothing has changed.
  Session& add(std::shared_ptr<SessionShared> shared, bool share);
  // The session is idle.
  void remove(Session& session) noexcept;
  Session* find(SessionId id) const noexcept;
  std::size_t size() const { return sessions_.size(); }
  // In no order.
  auto all() const {
    return sessions_ | std::views::transform([](const auto& entry) -> Session& { return *entry.second; });
  }

  // --- Sessions by state ---
  std::span<Session* const> active() const { return active_; }    // in the order of activate()
  std::span<Session* const> waiting() const { return waiting_; }  // by turn, the next one first
  std::span<Session* const> paused() const { return paused_; }
  Session* aside() const { return aside_; }  // session in the lane; nullptr: none
  std::uint32_t generating() const;          // number of all above
  // Place of a waiting session, from 1.
  std::uint32_t place_in_queue(const Session& session) const;
  // Number of active sessions that decode.
  std::uint32_t decoding() const;

  // Assigns a turn to a new generation. Throws std::bad_alloc.
  void line_up(Generation& generation) { generation.order = turns_.enter(generation.client, generation.background); }

  // --- Verbs: each requires a generation ---
  //
  // The session keeps its turn, whatever made it wait.
  void wait(Session& session) noexcept;
  void activate(Session& session) noexcept;
  void pause(Session& session) noexcept;
  // No other session is in the lane.
  void set_aside(Session& session) noexcept;
  // The generation ends. The session may be idle already.
  void rest(Session& session) noexcept;

  // --- The first waiting session, if it found no cells ---
  //
  // No session behind it is admitted before it, until a session is preempted or ends, or cells become free in another
  // way.
  void block_others(const Session& session) { blocking_ = &session; }
  bool blocks(const Session& session) const { return blocking_ == &session; }
  void unblock() noexcept { blocking_ = nullptr; }

  // --- Time, in passes ---
  void next_pass() { ++pass_; }
  // Marks the session as used in this pass.
  void use(Session& session) const noexcept { session.last_used = pass_; }

 private:
  // Only SessionTable may change the phase.
  struct Listed : Session {
    using Session::phase_;
    using Session::Session;
  };

  std::vector<Session*>::iterator turn_of(const Session& session) noexcept;
  void enter(Session& session, Phase phase) noexcept;
  // Records that the generation no longer waits, and its new phase.
  void note_turn(Generation& generation, Phase phase) noexcept;

  std::unordered_map<std::uint64_t, std::unique_ptr<Listed>> sessions_;
  // Each has capacity for all sessions, so that moves do not allocate.
  std::vector<Session*> active_, waiting_, paused_;
  Session* aside_ = nullptr;
  const Session* blocking_ = nullptr;
  TurnOrder turns_;
  std::uint64_t pass_ = 0;
};

}  // namespace corral::engine
