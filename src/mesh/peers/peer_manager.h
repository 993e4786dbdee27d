// Peers over a real network (or one in memory): keeps a link to every reachable member, accepts connections, and keeps
// the addresses of peers on disk.
//
// In a mesh of up to 32 nodes each node has links to all others; in a larger one each node dials 31 of them, chosen by
// hash, and accepts all links. Belongs to the mesh's loop.
#pragma once

#include <filesystem>

#include "mesh/members/join_token_store.h"
#include "mesh/members/member_store.h"
#include "mesh/peers/dial/dial_policy.h"
#include "mesh/peers/peers.h"

namespace corral::mesh {

// A peer in the configuration: an address, and the id if that is known. With its id it may join without a token
// (join_by_name), because the administrator has identified it.
struct ConfiguredPeer {
  std::optional<NodeId> id;
  Address address;
};

struct PeerManagerOptions {
  Boot boot;                     // see count_boot()
  std::filesystem::path folder;  // of the state: `peers`, `epoch`
  // One thread for the files of peers, members and tokens, so that heartbeats don't wait for the disk. Outlives the
  // node. nullptr: they wait.
  async::ThreadPool* disk = nullptr;
  std::vector<Address> addresses;          // of this node for other nodes, 8 at most; none: it can't be dialled
  std::vector<ConfiguredPeer> configured;  // also the seeds of a token that was just used
  DialRules dial;
  std::size_t max_links = 32;
  std::uint64_t seed = 0;  // of random numbers
};

struct PeerManagerParts;

class PeerManager final : public Peers {
 public:
  // This node must be a member. The references outlive this.
  PeerManager(async::Executor executor, async::Timers& timers, const SigningKey& own, MemberStore& store,
              JoinTokenStore& tokens, PeerManagerOptions options);
  // Ends every link without a reason. Cancels all tasks, which unwind on the loop soon after: without stop() or leave()
  // before, the arguments must outlive that.
  ~PeerManager() override;
  PeerManager(const PeerManager&) = delete;
  PeerManager& operator=(const PeerManager&) = delete;

  // For Network::listen(). May outlive this; rejects all connections then.
  PeerAuthorizer authorizer() const;
  // Accepts and dials from now on. Once; the network outlives this.
  void start(Network& network);
  // Notifies all peers that this node stops, and waits for the end of the links, for two seconds at most; then until
  // all files are written, for three seconds at most. Then no task uses the arguments, except `disk`.
  async::Task<void> stop();

  // After a change of the store by another part: sends the changes to peers, and drops revoked nodes.
  void members_changed();
  // Revokes members permanently, one after another; the members that they admitted stay. Each loses its link and
  // streams as soon as the revoke is on the disk. The task may outlive this. Errors: link_closed (this node stops),
  // not_a_member, those of MemberStore::revoke.
  async::Task<Result<>> revoke(std::vector<NodeId> nodes);
  // This node leaves permanently: revokes itself, sends the revoke to all peers, and ends its links. Returns how many
  // peers confirmed it; the others get it from them. At most 3 s. Errors: those of MemberStore::revoke.
  async::Task<Result<std::size_t>> leave();
  // Sets this node's addresses, and sends them to all peers.
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
  std::vector<InFlightId> listed_by(const NodeId& peer) const override;
  std::optional<MonoTime> last_heartbeat(const NodeId& peer) const override;
  void hold(const NodeId& for_peer, InFlightId id) override;
  void release(const NodeId& for_peer, InFlightId id) override;
  void hint(const NodeId& peer, const Address& address) override;
  bool take_load(const NodeId& peer) override;

 private:
  std::shared_ptr<PeerManagerParts> parts_;
};

}  // namespace corral::mesh
