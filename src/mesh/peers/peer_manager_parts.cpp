#include "mesh/peers/peer_manager_parts.h"

#include "base/log.h"
#include "mesh/peers/table/peer_file.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kDisk{3000};

}  // namespace

PeerManagerParts::PeerManagerParts(async::Executor executor, async::Timers& timers, const SigningKey& own_key,
                                   MemberStore& members, JoinTokenStore& issued, PeerManagerOptions options)
    : own(own_key),
      store(members),
      tokens(issued),
      dial_rules(options.dial),
      peers(executor, timers, own_key.id()),
      file(peers, options.folder),
      claims(own_key, options.boot, options.folder),
      exchanger(peers, claims, file, std::move(options.addresses)),
      sync(peers, own_key.public_key(), members, file, listeners,
           [this](const std::vector<PeerPtr>& added) { link_dialler.peers_changed(added); }),
      dialler(peers),
      streams(peers),
      reverse(peers, dialler, streams, options.seed),
      opener(peers, members, dialler, reverse),
      links({peers, listeners, members, claims, file, sync, exchanger, reverse, opener}, options.dial),
      link_dialler(peers, dialler, links, file, options),
      acceptor({peers, members, issued, sync, links, streams, reverse}, own_key, options.configured) {
  if (options.disk != nullptr) {
    store.use_disk(executor, *options.disk);
    tokens.use_disk(executor, *options.disk);
    file.use_disk(*options.disk);
  }
  sync.sync_table();
  for (const auto& known : read_peers(options.folder)) {
    const auto peer = peers.find(node_id(known.key));
    if (!peer) continue;
    peer->addresses.announced(known.addresses);
    if (known.claim) EpochClaims::learn(*peer, *known.claim);
  }
}

void PeerManagerParts::start(Network& network) {
  dialler.start(network);
  file.write();  // a crash must not lose addresses of the configuration or a token
  acceptor.start(network);
  opener.start();
  link_dialler.start();
}

void PeerManagerParts::end() {
  if (peers.has_ended()) return;
  peers.stop();
  if (dialler.has_started()) file.flush();
  peers.end();
  streams.clear_handlers();
  listeners.clear();
}

Task<void> PeerManagerParts::until_unwound(std::shared_ptr<PeerManagerParts> parts) {
  auto& timers = parts->peers.timers();
  auto unwinding = parts->peers.until_unwound();
  co_await std::move(unwinding);
  // After all tasks, because they may have ordered writes.
  const auto until = timers.now() + kDisk;
  const auto left = [&] { return std::chrono::duration_cast<Millis>(until - timers.now()); };
  bool written = co_await parts->store.finish(timers, left());
  written = co_await parts->tokens.finish(timers, left()) && written;
  written = co_await parts->file.finish(left()) && written;
  if (!written) log::error("mesh", "the disk does not respond: the last changes of the mesh may be lost");
}

}  // namespace corral::mesh
