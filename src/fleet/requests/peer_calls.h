// This node's requests at peers: their number per node, their connections, and the detection of lost requests.
//
// A call begins with the selection of its node and ends when its last owner drops it. There are three signs of its end.
// The connection breaks, because the link has ended (peer_upstream.cpp: broke). The peer's heartbeats no longer list
// the call (watch(), by lost_request_detector.h). Or the peer reports a failure (peer_upstream.cpp: excuse).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/cancel_source.h"
#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "backends/client_pool.h"
#include "fleet/requests/lost_request_detector.h"
#include "fleet/requests/node_selector.h"
#include "fleet/requests/peer_transport.h"
#include "http/body.h"
#include "router/base/upstream.h"

namespace corral::fleet {

class PeerCalls;

// One request at one peer. Belongs to the loop of the request, unless stated otherwise.
class PeerCall {
 public:
  PeerCall(SelectedNode to, mesh::InFlightId held, async::Executor executor,
           std::shared_ptr<backends::ClientPool> clients, std::function<void()> on_drop)
      : to_(std::move(to)),
        held_(held),
        executor_(executor),
        clients_(std::move(clients)),
        on_drop_(std::move(on_drop)),
        gone_(executor) {}
  ~PeerCall() { on_drop_(); }
  PeerCall(const PeerCall&) = delete;
  PeerCall& operator=(const PeerCall&) = delete;

  // Any loop.
  const SelectedNode& to() const { return to_; }
  mesh::InFlightId held() const { return held_; }
  async::Executor executor() const { return executor_; }
  http::Target& client() { return clients_->on(executor_); }

  // The request has ended, by the peer's report or a broken connection; the first call counts. Wakes readers of bytes.
  void end(router::UpstreamExit ending);
  const std::optional<router::UpstreamExit>& ending() const { return ending_; }
  async::Event& gone() { return gone_; }
  // Stops work that belongs to the call when the call is lost.
  const async::CancelSource& stopper() const { return stopper_; }
  // The response body that is read now; nullptr: none.
  void reads(http::BodySource* answer) { answer_ = answer; }

  // A reader waits for bytes of the response as long as this object lives.
  class Waiting {
   public:
    explicit Waiting(PeerCall& call) : call_(call) { call_.waits_.store(true, std::memory_order_relaxed); }
    ~Waiting() {
      call_.waits_.store(false, std::memory_order_relaxed);
      call_.pieces_.fetch_add(1, std::memory_order_relaxed);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    PeerCall& call_;
  };

 private:
  friend class PeerCalls;

  const SelectedNode to_;
  const mesh::InFlightId held_;
  const async::Executor executor_;
  const std::shared_ptr<backends::ClientPool> clients_;
  const std::function<void()> on_drop_;
  std::atomic<bool> waits_ = false;
  std::atomic<std::uint64_t> pieces_ = 0;
  std::optional<router::UpstreamExit> ending_;
  async::Event gone_;
  const async::CancelSource stopper_;
  http::BodySource* answer_ = nullptr;
};

// Belongs to the mesh's loop, unless stated otherwise; outlives the requests. All constructor arguments outlive it.
class PeerCalls {
 public:
  // `kept`: idle connections to a node on each loop; a peer accepts 32 in all from one node.
  PeerCalls(PeerTransport& transport, async::Timers& timers, NodeSelector& selector, std::size_t kept = 24);
  ~PeerCalls() { transport_.on_reach({}); }
  PeerCalls(const PeerCalls&) = delete;
  PeerCalls& operator=(const PeerCalls&) = delete;

  // A call at the best node that `request.nodes` (texts of node ids) leaves, for a request on `executor`'s loop.
  // From any loop. Errors: those of the selector; nowhere, outside a mesh.
  async::Task<Result<std::shared_ptr<PeerCall>>> begin(backends::ModelPtr model, router::LeaseRequest request,
                                                       async::Executor executor);
  // Number of requests at each node.
  const std::map<mesh::NodeId, std::uint32_t>& busy() const { return busy_; }
  std::size_t size() const { return calls_.size(); }
  // Number of nodes with kept connections.
  std::size_t ways() const { return ways_.size(); }
  // Ends the detection of lost requests. Remaining calls are no longer watched.
  async::Task<void> stop();

 private:
  struct Entry {
    std::weak_ptr<PeerCall> call;
    mesh::NodeId node;
    LostRequestDetector rule;
  };

  async::Task<Result<std::shared_ptr<PeerCall>>> begin_here(backends::ModelPtr model, router::LeaseRequest request,
                                                            async::Executor executor);
  std::shared_ptr<backends::ClientPool> clients_of(const mesh::NodeId& node);
  void dropped(mesh::InFlightId held);
  void forget_gone();
  async::Task<void> watch();

  PeerTransport& transport_;
  async::Timers& timers_;
  NodeSelector& selector_;
  const std::size_t kept_;
  std::map<mesh::InFlightId, Entry> calls_;
  std::map<mesh::NodeId, std::uint32_t> busy_;
  // Connections to a node, and the number of connections in progress.
  struct Way {
    std::shared_ptr<backends::ClientPool> clients;
    std::shared_ptr<std::atomic<std::uint32_t>> opening = std::make_shared<std::atomic<std::uint32_t>>(0);
  };
  std::map<mesh::NodeId, Way> ways_;
  mesh::InFlightId last_held_ = 0;
  bool watching_ = false;
  async::TaskGroup tasks_;
  const std::shared_ptr<PeerCalls*> self_ = std::make_shared<PeerCalls*>(this);  // for tasks that run after its end
};

}  // namespace corral::fleet
