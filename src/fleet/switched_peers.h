// The peers of whatever mesh this node is in, and none while it is in none: a mesh is founded, joined and left while
// the server runs, and what stands on peers (gossip, requests, copies) is there all the time.
//
// On the loop of the mesh.
#pragma once

#include <array>
#include <vector>

#include "mesh/peers/peers.h"

namespace corral::fleet {

class SwitchedPeers final : public mesh::Peers {
 public:
  SwitchedPeers() = default;
  SwitchedPeers(const SwitchedPeers&) = delete;
  SwitchedPeers& operator=(const SwitchedPeers&) = delete;

  // From now on these. They go before this, or are switched off before they go.
  void on(mesh::Peers& peers);
  void off();

  void listen(mesh::PeerEvents& events) override;
  void forget(mesh::PeerEvents& events) override;
  const mesh::NodeId& own() const override { return peers_ != nullptr ? peers_->own() : nobody_; }
  const mesh::Boot& boot() const override { return peers_ != nullptr ? peers_->boot() : no_boot_; }
  std::vector<mesh::PeerView> view() const override;
  bool is_up(const mesh::NodeId& peer) const override { return peers_ != nullptr && peers_->is_up(peer); }
  bool is_reachable(const mesh::NodeId& peer) const override { return peers_ != nullptr && peers_->is_reachable(peer); }
  void send(const mesh::NodeId& peer, mesh::Frame frame) override;
  async::Task<Result<>> deliver(mesh::NodeId peer, mesh::Frame frame) override;
  async::Task<Result<std::unique_ptr<mesh::Stream>>> open(mesh::NodeId peer, mesh::Purpose purpose) override;
  void give_back(std::unique_ptr<mesh::Stream> stream) override;
  void on_stream(mesh::Purpose purpose, StreamHandler handler) override;
  std::vector<mesh::HeldId> held_by(const mesh::NodeId& peer) const override;
  std::optional<MonoTime> last_heartbeat(const mesh::NodeId& peer) const override;
  void hold(const mesh::NodeId& for_peer, mesh::HeldId id) override;
  void release(const mesh::NodeId& for_peer, mesh::HeldId id) override;
  async::Task<mesh::Closing> until_down(mesh::NodeId peer) override;
  void hint(const mesh::NodeId& peer, const mesh::Address& address) override;
  bool take(const mesh::NodeId& peer, mesh::Allowance what) override;

 private:
  mesh::Peers* peers_ = nullptr;
  mesh::NodeId nobody_;
  mesh::Boot no_boot_;
  std::vector<mesh::PeerEvents*> listeners_;
  std::array<StreamHandler, mesh::kPurposes> handlers_;
};

}  // namespace corral::fleet
