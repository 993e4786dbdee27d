// Keeps the list of members equal here and at all peers, and a record in the table for each member. New records go over
// every link at once, and a revoked node loses its link and streams at once. Belongs to the mesh's loop.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mesh/members/member_store.h"
#include "mesh/peers/peer_listeners.h"
#include "mesh/peers/table/peer_file_writer.h"

namespace corral::mesh {

class MemberSync {
 public:
  // The table holds a record for each member again; those in `added` are new.
  using Synced = std::function<void(const std::vector<PeerPtr>& added)>;

  MemberSync(PeerTable& peers, const PublicKey& own, MemberStore& store, PeerFileWriter& file, PeerListeners& listeners,
             Synced synced);

  // Whether this node is a member.
  bool is_member() const { return store_.set().standing(own_) == MembershipStatus::member; }
  // The store has changed: sends the changes to peers, notifies listeners, and syncs the table.
  void members_changed();
  // Whether the store has records that weren't sent to peers.
  bool has_unsent() const { return store_.set().digest() != sent_.digest(); }
  void sync_table();
  // Takes member records of a peer. Checks the peer's limit for new records before it verifies any. True if something
  // is new. Errors: overloaded, and those of MemberStore::learn.
  Result<bool> learn(PeerRecord& peer, std::span<const MemberRecord> records);
  // Sends the whole list to one peer.
  void send_all(PeerRecord& peer) const;

 private:
  void send_changes();
  async::Task<void> send_changes_later();
  void drop(const PeerPtr& peer);

  PeerTable& peers_;
  const PublicKey own_;
  MemberStore& store_;
  PeerFileWriter& file_;
  PeerListeners& listeners_;
  const Synced synced_;
  MemberSet sent_;  // sent over every link
  bool due_ = false;
  MonoTime sent_at_{};
};

}  // namespace corral::mesh
