#include "mesh/peers/table/peer_file_writer.h"

#include "base/log.h"
#include "mesh/peers/table/peer_file.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kWriteAfter{1000};

}  // namespace

PeerFileWriter::PeerFileWriter(PeerTable& peers, const std::filesystem::path& folder)
    : peers_(peers), file_(folder / kPeersFile, Durability::crash) {}

void PeerFileWriter::remember() {
  if (!peers_.has_ended() && !std::exchange(due_, true)) peers_.run("mesh peers: write", write_later());
}

Task<void> PeerFileWriter::write_later() {
  co_await peers_.timers().sleep_for(kWriteAfter);
  write();
}

void PeerFileWriter::write() {
  if (peers_.has_ended()) return;  // the table is empty then, and the file must keep the peers
  due_ = false;
  std::vector<KnownPeer> known;
  for (const auto& [id, peer] : peers_.all()) known.push_back({peer->key, peer->claim, peer->addresses.lasting()});
  file_.change([text = encode(known)] { return text; },
               [](const Result<>& written) {
                 if (written) return;
                 log::warning("mesh", "{}; after a restart corral uses the addresses of peers from the last write",
                              written.error().message);
               });
}

void PeerFileWriter::flush() {
  if (due_) write();
}

}  // namespace corral::mesh
