// Peers over a real network (or one in memory): keeps a link to every member that can be reached, accepts what comes,
// and keeps on disk where peers were.
//
// A mesh of up to 32 nodes is linked whole; in a larger one each node dials 31 that chance chose, and takes all that
// come. Belongs to the mesh's loop.
#pragma once

#include <filesystem>

#include "mesh/members/join_token_store.h"
#include "mesh/members/member_store.h"
#include "mesh/peers/dial_policy.h"
#include "mesh/peers/peers.h"

namespace corral::mesh {

// A peer that the configuration names, by address, and by id where that is known. With its id it may join without a
// token (join_by_name), for the administrator has said who it is.
struct ConfiguredPeer {
  std::optional<NodeId> id;
  Address address;
};

struct PeerManagerOptions {
  Boot boot;                     // see count_boot()
  std::filesystem::path folder;  // of the state: `peers`, `epoch`
  // One thread for the files of peers, members and tokens, so that heartbeats don't wait for the disk. Outlives the
  // node. None: they do.
  async::ThreadPool* disk = nullptr;
  std::vector<Address> addresses;          // where others can dial this node, 8 at most; none: it can't be dialled
  std::vector<ConfiguredPeer> configured;  // also the seeds of a token that was just used
  DialRules dial;
  std::size_t most_links = 32;
  std::uint64_t seed = 0;  // of what is left to chance
};

struct PeerManagerParts;

class PeerManager final : public Peers {
 public:
  // This node must be a member. What is referred to outlives this.
  PeerManager(async::Executor executor, async::Timers& timers, const SigningKey& own, MemberStore& book,
              JoinTokenStore& tokens, PeerManagerOptions options);
  // Ends every link without a word. What runs is cancelled and unwinds on the loop soon after: without stop() or
  // leave() before, what was given here must outlive that.
  ~PeerManager() override;
  PeerManager(const PeerManager&) = delete;
  PeerManager& operator=(const PeerManager&) = delete;

  // For Network::listen(). May outlive this; lets nobody in then.
  PeerAuthorizer authorizer() const;
  // Accepts and dials from now on. Once; the network outlives this.
  void start(Network& network);
  // Tells all peers that this node stops, and waits until they know, for two seconds at most; then until all files are
  // written, for three seconds at most. Then nothing refers any more to what was given here, but for the disk.
  async::Task<void> stop();

  // After others were told by another way (the own book has changed): spreads what is new, and drops who was thrown
  // out.
  void members_changed();
  // Throws members out, for ever, one after another; those they admitted stay. Each loses its link and streams as soon
  // as it is on the disk. May outlive this. Errors: link_closed (this node stops), those of MemberStore::revoke.
  async::Task<Result<>> revoke(std::vector<NodeId> nodes);
  // This node leaves for good: revokes itself, tells all peers, and ends its links. How many peers took note; the
  // others hear of it from them. At most 3 s. Errors: those of MemberStore::revoke.
  async::Task<Result<std::size_t>> leave();
  // Others are told.
  void set_addresses(std::vector<Address> addresses);

  void listen(PeerEvents& events) override;
  void forget(PeerEvents& events) override;
  const NodeId& own() const override;
  const Boot& boot() const override;
  std::vector<PeerView> view() const override;
  bool is_up(const NodeId& peer) const override;
  void send(const NodeId& peer, Frame frame) override;
  async::Task<Result<std::unique_ptr<Stream>>> open(NodeId peer, Purpose purpose) override;
  void on_stream(Purpose purpose, StreamHandler handler) override;
  std::vector<InFlightId> held_by(const NodeId& peer) const override;
  std::optional<MonoTime> last_heartbeat(const NodeId& peer) const override;
  void hold(const NodeId& for_peer, InFlightId id) override;
  void release(const NodeId& for_peer, InFlightId id) override;
  void hint(const NodeId& peer, const Address& address) override;
  bool take_load(const NodeId& peer) override;

 private:
  std::shared_ptr<PeerManagerParts> parts_;
};

}  // namespace corral::mesh
