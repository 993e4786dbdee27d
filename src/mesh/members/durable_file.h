// A small file of the mesh's state that is replaced by one change after another. A change holds once it is on the disk.
// Belongs to one loop. With a thread for the disk (use_disk) that loop goes on while a change is written: it sends the
// heartbeats, and a busy disk takes longer than a link may be silent. Without one a change blocks the caller.
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
  // Makes the new text. Called when all earlier changes have ended, so it sees what they did. None: nothing needs to be
  // written, and the change succeeds. An error ends the change.
  using MakeText = std::function<Result<std::optional<std::string>>()>;
  // Called on the loop with the result, before the next change begins.
  using Done = std::function<void(const Result<>&)>;

  explicit DurableFile(std::filesystem::path file, Durability what = Durability::power_loss);

  const std::filesystem::path& path() const;
  // Before the first change that must not block. `disk` outlives what it has to write, see finish().
  void use_disk(async::Executor loop, async::ThreadPool& disk);
  // Both functions own what they use: they are called even if this object is gone or its caller was cancelled. `done`
  // gets the system's errors and those of `make`.
  void change(MakeText make, Done done);
  // The same, and waits for the end of the change; cancelling ends only the wait.
  async::Task<Result<>> changed(MakeText make, Done done);
  // Waits until all changes have ended, but no longer than that. False: the disk does not answer.
  async::Task<bool> finish(async::Timers& timers, Millis within) const;

 private:
  struct State;

  static async::Task<void> work(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace corral::mesh
