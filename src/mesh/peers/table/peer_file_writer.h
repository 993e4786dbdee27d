// Writes known peers (peer_file.h) to the disk, a second after a change. Belongs to the mesh's loop.
#pragma once

#include <filesystem>

#include "mesh/members/durable_file.h"
#include "mesh/peers/table/peer_table.h"

namespace corral::mesh {

class PeerFileWriter {
 public:
  PeerFileWriter(PeerTable& peers, const std::filesystem::path& folder);

  void use_disk(async::ThreadPool& disk) { file_.use_disk(peers_.executor(), disk); }
  // After a change: writes a second later.
  void remember();
  void write();
  // Writes at once what remember() would write later.
  void flush();
  // See DurableFile.
  async::Task<bool> finish(Millis within) const { return file_.finish(peers_.timers(), within); }

 private:
  async::Task<void> write_later();

  PeerTable& peers_;
  DurableFile file_;
  bool due_ = false;
};

}  // namespace corral::mesh
