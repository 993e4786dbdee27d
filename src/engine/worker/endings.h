// How generations end: the one place where a session leaves whatever list it is in, hears its terminal item and is idle
// again. Counts how many failed in a row. One thread, but for failed_in_row().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "engine/worker/answer_writer.h"
#include "engine/worker/in_hand.h"
#include "engine/worker/lane_desk.h"
#include "engine/worker/roster.h"
#include "engine/worker/sequences.h"

namespace corral::engine {

class Endings {
 public:
  struct Parts {
    std::function<MonoTime()> clock;
    Roster& roster;
    Sequences& sequences;
    LaneDesk& lane;
    AnswerWriter& writer;
    InHand& hand;
  };
  explicit Endings(Parts parts);

  // The one way, but for what nobody foresaw. The session is in hand meanwhile.
  void finish(Session& session, StopReason reason, std::optional<Error> error = std::nullopt,
              std::string stop_string = {});
  // Nobody can go on.
  void finish_all(const Error& error);

  // Without a step that could fail. What the stream wasn't told is no part of the history.
  void fail(Session& session, const char* what) noexcept;
  // The stream hears its end, and nothing is seen to but that.
  void shut_down(Session& session) noexcept;

  // Since a generation got through, up to a few; on any thread.
  std::uint32_t failed_in_row() const { return failed_in_row_; }

 private:
  void end(Session& session, Finish finish) noexcept;
  void count(StopReason reason);

  const std::function<MonoTime()> clock_;
  Roster& roster_;
  Sequences& sequences_;
  LaneDesk& lane_;
  AnswerWriter& writer_;
  InHand& hand_;
  std::atomic<std::uint32_t> failed_in_row_ = 0;
};

}  // namespace corral::engine
