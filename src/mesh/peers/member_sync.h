// Keeps the list of members the same here and at all peers, and a record in the table for each member: what is learnt
// reaches every link at once, and who was revoked loses everything at once. Belongs to the mesh's loop.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mesh/members/member_store.h"
#include "mesh/peers/peer_file_writer.h"
#include "mesh/peers/peer_listeners.h"

namespace corral::mesh {

class MemberSync {
 public:
  // The table holds a record for each member again; those in `added` are new.
  using Synced = std::function<void(const std::vector<PeerPtr>& added)>;

  MemberSync(PeerTable& peers, const PublicKey& own, MemberStore& book, PeerFileWriter& file, PeerListeners& listeners,
             Synced synced);

  // This node.
  bool is_member() const { return book_.set().standing(own_) == MembershipStatus::member; }
  // The book has changed: tells peers and listeners, and syncs the table.
  void members_changed();
  // Peers weren't told of all that the book holds.
  bool has_untold() const { return book_.set().digest() != told_.digest(); }
  void sync_table();
  // What a peer tells of members. It pays for what has to be verified before that happens. True when something is new.
  // Errors: overloaded, and those of MemberStore::learn.
  Result<bool> learn(PeerRecord& peer, std::span<const MemberRecord> records);
  // The whole list, to one.
  void tell_all(PeerRecord& peer) const;

 private:
  void tell_news();
  async::Task<void> tell_news_later();
  void drop(const PeerPtr& peer);

  PeerTable& peers_;
  const PublicKey own_;
  MemberStore& book_;
  PeerFileWriter& file_;
  PeerListeners& listeners_;
  const Synced synced_;
  MemberSet told_;  // what every link was told
  bool due_ = false;
  MonoTime told_at_{};
};

}  // namespace corral::mesh
