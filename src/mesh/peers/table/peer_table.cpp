#include "mesh/peers/table/peer_table.h"

namespace corral::mesh {
namespace {

using async::Task;

Task<void> hold(std::shared_ptr<const void>, Task<void> task) { co_await std::move(task); }

Task<void> wait_until_finished(std::shared_ptr<Link> link) { co_await link->finished(); }

}  // namespace

PeerPtr PeerTable::find(const NodeId& id) const {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Link>> PeerTable::links() const {
  std::vector<std::shared_ptr<Link>> links;
  for (const auto& [id, peer] : peers_) {
    if (peer->link.is_up()) links.push_back(peer->link.get());
  }
  return links;
}

PeerPtr PeerTable::add(const PublicKey& key) {
  const auto peer = std::make_shared<PeerRecord>(executor_, key, now());
  peers_[peer->id] = peer;
  return peer;
}

void PeerTable::remove(const PeerPtr& peer) {
  peers_.erase(peer->id);
  peer->tasks.cancel();
  std::erase_if(removed_, [](const auto& weak) { return weak.expired(); });
  removed_.push_back(peer);
}

void PeerTable::end() {
  stopping_ = ended_ = true;
  for (const auto& [id, peer] : std::exchange(peers_, {})) {
    peer->gone = true;
    removed_.push_back(peer);
    peer->link.release();
    peer->streams.close_all();
    peer->tasks.cancel();
    peer->reverse.give_up();
  }
  tasks_.cancel();
}

Task<void> PeerTable::until_unwound() {
  for (const auto& weak : std::exchange(removed_, {})) {
    const auto peer = weak.lock();
    if (peer) co_await peer->tasks.join();
  }
  co_await tasks_.join();
}

void PeerTable::run(const char* name, Task<void> task) {
  if (!ended_) tasks_.spawn(name, hold(owner_.lock(), std::move(task)));
}

void PeerTable::run_for(PeerRecord& peer, const char* name, Task<void> task) {
  if (!peer.gone) peer.tasks.spawn(name, hold(owner_.lock(), std::move(task)));
}

void PeerTable::hold_until_finished(std::shared_ptr<Link> link) {
  run("mesh peers: end of a link", wait_until_finished(std::move(link)));
}

}  // namespace corral::mesh
