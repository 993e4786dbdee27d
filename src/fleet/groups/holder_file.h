// Who has this node's memory, on the disk: the next life of this node has to know whom it was given to, since that host
// may still believe in its lease.
//
// Belongs to one loop.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "fleet/base/kept_file.h"
#include "mesh/identity/keys.h"

namespace corral::fleet {

inline constexpr const char* kHolderFile = "holder";

class HolderFile {
 public:
  // As of KeptFile. `disk`: of no other folder's files, which mustn't hold it up.
  HolderFile(async::Executor executor, async::Timers& timers, async::ThreadPool& disk,
             const std::filesystem::path& folder, KeptFile::Write write);

  // What the last life wrote; nothing: nobody has it. What can't be read is put aside and counts as a host that is
  // nobody's id: all others wait for a lease's time. Blocks for a small file.
  std::optional<mesh::NodeId> read();
  // As KeptFile::write().
  void write(const std::optional<mesh::NodeId>& host, KeptFile::Done done);
  // Since when the disk gives no answer to what is being written.
  std::optional<MonoTime> waiting_since() const { return file_.waiting_since(); }
  // Waits for nothing.
  async::Task<void> stop() { return file_.stop(); }

 private:
  KeptFile file_;
};

}  // namespace corral::fleet
