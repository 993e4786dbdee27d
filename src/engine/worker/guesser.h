// Guesses at what running streams say next, where a pass isn't full without them. Nobody's cells go for a guess, and
// none goes into a pass that is to measure something or to find somebody to blame. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/schedule/cost_model.h"
#include "engine/schedule/drafter.h"
#include "engine/schedule/guess_length.h"
#include "engine/worker/memory_keeper.h"
#include "engine/worker/pass.h"
#include "engine/worker/worker_options.h"

namespace corral::engine {

class Guesser {
 public:
  // `drafter` may be nullptr: nobody guesses. `batch`: rows that a pass has room for.
  Guesser(std::unique_ptr<Drafter> drafter, const MemoryKeeper& keeper, const CostModel& costs, std::uint32_t batch,
          const WorkerOptions& options);

  // Adds guesses to a pass that is planned, of so many sessions that run.
  void add(Pass& pass, std::size_t running);
  // The session ended.
  void forget(SessionId session);
  // Gives memory back.
  void downsize();
  // Something was left halfway. What it knows is of no worth to it: each guess is checked anyway.
  void start_over() noexcept;

 private:
  bool may_guess(const Pass& pass, std::size_t running) const;
  void draft(Pass& pass, std::uint32_t room);
  void choose(Pass& pass, std::uint32_t room);
  std::uint32_t room_behind(const Session& session) const;

  const std::unique_ptr<Drafter> drafter_;
  const MemoryKeeper& keeper_;
  const CostModel& costs_;
  const std::uint32_t batch_;
  const std::uint32_t most_, most_running_;
  std::vector<GuessList> lists_;
};

}  // namespace corral::engine
