// Finishes generations: the one place where a session leaves its list, gets its terminal item and becomes idle. Counts
// consecutive failures. One thread, except failed_in_row().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "engine/cache/sequences.h"
#include "engine/session/fault_scope.h"
#include "engine/session/session_table.h"
#include "engine/session/stream_writer.h"
#include "engine/worker/prefill_lane_controller.h"

namespace corral::engine {

class GenerationFinisher {
 public:
  struct Parts {
    std::function<MonoTime()> clock;
    SessionTable& sessions;
    Sequences& sequences;
    PrefillLaneController& lane;
    StreamWriter& writer;
    FaultScope& faults;
  };
  explicit GenerationFinisher(Parts parts);

  // The normal end of every generation. The fault scope names the session meanwhile.
  void finish(Session& session, FinishReason reason, std::optional<Error> error = std::nullopt,
              std::string stop_string = {});
  // Ends all generations with `error`.
  void finish_all(const Error& error);

  // Ends a generation after an unexpected failure; cannot fail itself. Tokens that the stream did not report leave the
  // history.
  void fail(Session& session, const char* what) noexcept;
  // Ends the stream only; touches nothing else.
  void shut_down(Session& session) noexcept;

  // Failures since the last generation that succeeded, up to a small limit; on any thread.
  std::uint32_t failed_in_row() const { return failed_in_row_; }

 private:
  void end(Session& session, Finish finish) noexcept;
  void count(FinishReason reason);

  const std::function<MonoTime()> clock_;
  SessionTable& sessions_;
  Sequences& sequences_;
  PrefillLaneController& lane_;
  StreamWriter& writer_;
  FaultScope& faults_;
  std::atomic<std::uint32_t> failed_in_row_ = 0;
};

}  // namespace corral::engine
