// Where requests cross from this node to others and back: what of the mesh's links lending and the door need. The mesh
// comes and goes (a node joins, leaves, is thrown out) while the server runs; this stays, and says no in between.
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

// Made once, outlives all requests. Belongs to the mesh's loop, but for what is said otherwise; that loop runs as long
// as anything is attached. The loop may outlive this: a hold() or release() that it runs later then does nothing.
class PeerTransport final : mesh::PeerEvents {
 public:
  // `adopt` takes connections of peers, by the text of their id: a server's adopt(). It is called on the mesh's loop.
  using Adopt = std::function<void(UniqueFd, std::string peer)>;
  PeerTransport(async::Executor mesh, Adopt adopt) : mesh_(mesh), adopt_(std::move(adopt)), bridges_(mesh) {}
  // After detach(), when no task waits in connect() or take_load(). While the mesh's loop does not run, or on it.
  ~PeerTransport() override { *self_ = nullptr; }
  PeerTransport(const PeerTransport&) = delete;
  PeerTransport& operator=(const PeerTransport&) = delete;

  // This node is a member, and `peers` are the others; they outlive detach().
  void attach(mesh::Peers& peers);
  // It is none any more. What is under way ends as the streams do.
  void detach();
  // After detach(): ends what is still on its way.
  async::Task<void> stop() { return bridges_.stop(); }
  mesh::Peers* peers() const { return peers_; }  // nullptr: in no mesh
  // Called when other peers can be reached than before, or none any more; {}: not any more.
  void on_reach(std::function<void()> changed) { reach_ = std::move(changed); }
  const StreamBridges& bridges() const { return bridges_; }

  // Any loop.
  async::Executor executor() const { return mesh_; }
  bool attached() const { return attached_.load(std::memory_order_acquire); }
  // A connection to that node for one request after another. Errors: those of Peers::open; unreachable in no mesh.
  async::Task<Result<UniqueFd>> connect(mesh::NodeId node);
  // Lists a request in heartbeats to `node`, so that the peer does not count it as lost; takes it off the list.
  void hold(const mesh::NodeId& node, mesh::InFlightId held);
  void release(const mesh::NodeId& node, mesh::InFlightId held);
  // What `rule` says on the loop of the mesh, one after another: it is given a way to count one more load of that node,
  // which is false when the node has had its share. It owns what it uses.
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
  // For what is posted to the mesh's loop, and read only there; nullptr once this is gone.
  const std::shared_ptr<PeerTransport*> self_ = std::make_shared<PeerTransport*>(this);
};

}  // namespace corral::fleet
