// Records on the disk which host uses this node's memory. After a restart this node needs to know it, since that host
// may still rely on its lease.
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
  // As in KeptFile. `disk`: used for no other folder's files, which could delay it.
  HolderFile(async::Executor executor, async::Timers& timers, async::ThreadPool& disk,
             const std::filesystem::path& folder, KeptFile::Write write);

  // What the previous process wrote; nullopt: no host. An unreadable file is renamed and counts as a host with an
  // unused id: all hosts wait for the time of a lease. Blocks for a small file.
  std::optional<mesh::NodeId> read();
  // As KeptFile::write().
  void write(const std::optional<mesh::NodeId>& host, KeptFile::Done done);
  // Start of the write that the disk has not finished.
  std::optional<MonoTime> waiting_since() const { return file_.waiting_since(); }
  // Ends without waiting for writes.
  async::Task<void> stop() { return file_.stop(); }

 private:
  KeptFile file_;
};

}  // namespace corral::fleet
