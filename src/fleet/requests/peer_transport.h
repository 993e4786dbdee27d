// Connections to and from peers over the mesh's links, for leases and PeerRequestHandler. Meshes come and go while the
// server runs (join, leave, revocation). This object stays; outside a mesh it refuses.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/unique_fd.h"
#include "fleet/requests/stream_bridges.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// Made once, outlives all requests. Belongs to the mesh's loop, unless stated otherwise; that loop runs as long as
// peers are attached. The loop may outlive this object: a later hold() or release() then does nothing.
class PeerTransport final : mesh::PeerEvents {
 public:
  // `adopt` accepts connections of peers, with the text of the peer's id: a server's adopt(). Called on the mesh's
  // loop.
  using Adopt = std::function<void(UniqueFd, std::string peer)>;
  PeerTransport(async::Executor mesh, Adopt adopt) : mesh_(mesh), adopt_(std::move(adopt)), bridges_(mesh) {}
  // Call it after detach(), when no task waits in connect() or take_load(), and on the mesh's loop or while that
  // doesn't run.
  ~PeerTransport() override { *self_ = nullptr; }
  PeerTransport(const PeerTransport&) = delete;
  PeerTransport& operator=(const PeerTransport&) = delete;

  // This node is a member, and `peers` are its peers; they outlive detach().
  void attach(mesh::Peers& peers);
  // This node is no longer a member. Running requests end with their streams.
  void detach();
  // After detach(): ends all bridges.
  async::Task<void> stop() { return bridges_.stop(); }
  mesh::Peers* peers() const { return peers_; }  // nullptr: in no mesh
  // Called when the set of reachable peers changes, or becomes empty; {}: removes the callback.
  void on_reach(std::function<void()> changed) { reach_ = std::move(changed); }
  const StreamBridges& bridges() const { return bridges_; }

  // Any loop.
  async::Executor executor() const { return mesh_; }
  bool attached() const { return attached_.load(std::memory_order_acquire); }
  // A connection to the node for one request after another. Errors: those of Peers::open; unreachable outside a mesh.
  async::Task<Result<UniqueFd>> connect(mesh::NodeId node);
  // Lists a request in heartbeats to `node`, so that the peer does not count it as lost; removes it from the list.
  void hold(const mesh::NodeId& node, mesh::InFlightId held);
  void release(const mesh::NodeId& node, mesh::InFlightId held);
  // Runs `rule` on the loop of the mesh, one rule after another, and returns its result. `take` counts one more load
  // for the node; it returns false at the node's limit. The rule owns all its data.
  using LoadRule = std::function<bool(const std::function<bool()>& take)>;
  async::Task<bool> take_load(mesh::NodeId node, LoadRule rule);

 private:
  void reach_changed() override {
    if (reach_) reach_();
  }
  static mesh::Peers* peers_of(const std::shared_ptr<PeerTransport*>& self) {
    return *self == nullptr ? nullptr : (*self)->peers_;
  }
  async::Task<Result<UniqueFd>> connect_here(mesh::NodeId node);
  async::Task<bool> take_load_here(mesh::NodeId node, LoadRule rule);

  const async::Executor mesh_;
  const Adopt adopt_;
  std::function<void()> reach_;
  mesh::Peers* peers_ = nullptr;
  std::atomic<bool> attached_ = false;
  StreamBridges bridges_;
  // For tasks on the mesh's loop, and read only there; nullptr once this object is gone.
  const std::shared_ptr<PeerTransport*> self_ = std::make_shared<PeerTransport*>(this);
};

}  // namespace corral::fleet
