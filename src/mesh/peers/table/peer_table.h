// The records of all other members, and the tasks that run for them. Belongs to the mesh's loop.
//
// Tasks hold the owner of the table and of all parts around it (own_by), so tasks may use references between parts.
// While `stopping` this node waits for its peers to end the links; once `ended` no task starts.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "async/task_group.h"
#include "mesh/peers/table/peer_record.h"

namespace corral::mesh {

class PeerTable {
 public:
  PeerTable(async::Executor executor, async::Timers& timers, NodeId own)
      : executor_(executor), timers_(timers), own_(own), tasks_(executor) {}

  // Before the first task.
  void own_by(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  async::Executor executor() const { return executor_; }
  async::Timers& timers() const { return timers_; }
  MonoTime now() const { return timers_.now(); }
  const NodeId& own() const { return own_; }

  // Sorted by id.
  const std::map<NodeId, PeerPtr>& all() const { return peers_; }
  PeerPtr find(const NodeId& id) const;
  std::vector<std::shared_ptr<Link>> links() const;
  PeerPtr add(const PublicKey& key);
  // Cancels the peer's tasks.
  void remove(const PeerPtr& peer);

  bool is_stopping() const { return stopping_; }
  void stop() { stopping_ = true; }
  bool has_ended() const { return ended_; }
  // Removes all peers and cancels all tasks. Once.
  void end();
  // After end(): waits until all tasks have ended.
  async::Task<void> until_unwound();

  void run(const char* name, async::Task<void> task);
  // The task is cancelled when the peer is no longer a member.
  void run_for(PeerRecord& peer, const char* name, async::Task<void> task);
  // Keeps a closed link until the reason is sent, or can't be.
  void hold_until_finished(std::shared_ptr<Link> link);

 private:
  const async::Executor executor_;
  async::Timers& timers_;
  const NodeId own_;
  std::weak_ptr<const void> owner_;
  bool stopping_ = false;
  bool ended_ = false;
  std::map<NodeId, PeerPtr> peers_;
  std::vector<std::weak_ptr<PeerRecord>> removed_;  // their tasks may still unwind
  async::TaskGroup tasks_;
};

}  // namespace corral::mesh
