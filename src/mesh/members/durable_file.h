// A small file of the mesh's state that is replaced by one change after another. A change is valid once it is on the
// disk. Belongs to one loop. With a thread for the disk (use_disk) the loop continues during a write: it sends the
// heartbeats, and a busy disk may take longer than a link may be silent. Without such a thread a change blocks the
// caller.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/offload.h"
#include "async/timer.h"
#include "base/state_file.h"

namespace corral::mesh {

class DurableFile {
 public:
  // Makes the new text. Called after the end of all earlier changes, so it sees their results. None: no write is
  // needed, and the change succeeds. An error ends the change.
  using MakeText = std::function<Result<std::optional<std::string>>()>;
  // Called on the loop with the result, before the next change begins.
  using Done = std::function<void(const Result<>&)>;

  explicit DurableFile(std::filesystem::path file, Durability what = Durability::power_loss);

  const std::filesystem::path& path() const;
  // Before the first change that must not block. `disk` outlives its writes, see finish().
  void use_disk(async::Executor loop, async::ThreadPool& disk);
  // Both functions must own what they use: they are called even if this object is gone or its caller was cancelled.
  // `done` gets the system's errors and those of `make`.
  void change(MakeText make, Done done);
  // The same, but waits for the end of the change; cancelling ends only the wait.
  async::Task<Result<>> changed(MakeText make, Done done);
  // Waits until all changes have ended, at most `within`. False: the disk does not respond.
  async::Task<bool> finish(async::Timers& timers, Millis within) const;

 private:
  struct State;

  static async::Task<void> work(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace corral::mesh
