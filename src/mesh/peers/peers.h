// The other nodes of the mesh as this one reaches them: a link to each, streams for requests and files, and frames over
// links. Higher layers (gossip, routing, copies, commands) use only this interface; peer_manager.h is the real
// implementation, and tests have others.
//
// Belongs to the loop of the mesh. "Up" means that the link is up: only a link proves that a node is alive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mesh/link/link.h"

namespace corral::mesh {

enum class PeerState {
  up,        // has a link
  dialling,  // without a link for at most a minute: dialled often
  waiting,   // dialled every few seconds
};
std::string_view name_of(PeerState state);

// One member, as people and metrics see it.
struct PeerView {
  NodeId id;
  PublicKey key;
  PeerState state{};
  MonoTime since{};                  // start of being up, or not up
  bool dialled = false;              // by us: the link
  std::string address;               // of the link, for people
  std::vector<Address> addresses;    // to dial, the best one first
  std::optional<Millis> round_trip;  // of the last heartbeat
  std::optional<Boot> boot;          // its newest known epoch
  std::uint16_t minor = 0;           // of the protocol, from the peer's last hello
  std::optional<Closing> last_end;   // of the previous link
  std::string last_failure;          // of dialling it, a sentence for people; empty: none since the last link
  std::uint64_t links = 0;           // links that came up since the start
  std::uint64_t bytes_in = 0;        // over streams, all purposes but control
  std::uint64_t bytes_out = 0;
  std::size_t streams_to = 0;    // in use, that we opened
  std::size_t streams_from = 0;  // in use, that the peer opened
};

// Called on the mesh's loop, in the order of events. Must not destroy Peers.
class PeerEvents {
 public:
  virtual ~PeerEvents() = default;

  // A link is up, and both sides have the same members. May come again without link_down(), if another link of the pair
  // replaced the first one. Recent frames may be lost then, so listeners must send their whole state again.
  virtual void link_up(const NodeId&, const Hello&) {}
  virtual void link_down(const NodeId&, const Closing&) {}
  // Only frames of kinds that links and Peers don't handle themselves.
  virtual void frame(const NodeId&, const Frame&) {}
  // Which peers are up has changed; comes after link_up() and link_down(), too.
  virtual void reach_changed() {}
  virtual void members_changed() {}
  // This node had lost its epoch and has learnt it from a peer: its announcements so far are void.
  virtual void epoch_changed(const Boot&) {}
};

class Peers {
 public:
  using StreamHandler = std::function<void(std::unique_ptr<Stream>)>;

  virtual ~Peers() = default;

  // `events` outlives this, or calls forget() before. A new listener gets no earlier events: see view().
  virtual void listen(PeerEvents& events) = 0;
  virtual void forget(PeerEvents& events) = 0;

  // This node, and its present epoch.
  virtual const NodeId& own() const = 0;
  virtual const Boot& boot() const = 0;
  // All members but this node, sorted by id.
  virtual std::vector<PeerView> view() const = 0;
  virtual bool is_up(const NodeId& peer) const = 0;

  // Puts the frame in the link's queue and never waits. If the queue (4 MiB) is full the peer is too slow and loses its
  // link. Does nothing without a link.
  virtual void send(const NodeId& peer, Frame frame) = 0;

  // A stream to that peer, for http, copy or rpc: a spare, which costs no round trip, or a new one, by dialling the
  // peer or by asking the peer to dial us. It is closed when the link of the pair ends. Destroying it closes it.
  // Errors: unreachable (no link), timed_out, overloaded (32 http, 4 copy, 40 rpc streams to that peer are in use),
  // revoked, link_closed; at most 5 s.
  virtual async::Task<Result<std::unique_ptr<Stream>>> open(NodeId peer, Purpose purpose) = 0;
  // Sets the handler for streams that peers open, one for each purpose (http, copy, rpc). It is called when the first
  // byte has come, and can still read this byte. Without a handler streams are closed. An empty handler removes it.
  virtual void on_stream(Purpose purpose, StreamHandler handler) = 0;

  // In-flight requests in the peer's last heartbeat, and when it came; nothing without a link.
  virtual std::vector<InFlightId> listed_by(const NodeId& peer) const = 0;
  virtual std::optional<MonoTime> last_heartbeat(const NodeId& peer) const = 0;
  // Lists an in-flight request of that peer in each heartbeat, 256 at most.
  virtual void hold(const NodeId& for_peer, InFlightId id) = 0;
  virtual void release(const NodeId& for_peer, InFlightId id) = 0;

  // A discovery hint, which isn't trusted: dials the address once, soon, with the peer's key pinned.
  virtual void hint(const NodeId& peer, const Address& address) = 0;

  // Counts a load for the peer; false, without counting, if it had 4 in the last minute.
  virtual bool take_load(const NodeId& peer) = 0;
};

}  // namespace corral::mesh
