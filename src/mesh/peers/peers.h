// The other nodes of the mesh as this one reaches them: a link to each, streams for requests and files, and what is
// told over links. What stands on the mesh (gossip, routing, copies, commands) sees this and no more; peer_manager.h is
// the real one, and tests bring their own.
//
// Belongs to the loop of the mesh. "Up" means that the link is up: nothing else proves that a node lives.
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
  up,        // a link
  dialling,  // it is being dialled, as the link is gone for a minute at most
  waiting,   // dialled now and then
};
std::string_view name_of(PeerState state);

// One member, as people and metrics see it.
struct PeerView {
  NodeId id;
  PublicKey key;
  PeerState state{};
  MonoTime since{};                  // of being up, or of not being up
  bool dialled = false;              // by us: the link
  std::string address;               // of the link, for people
  std::vector<Address> addresses;    // where it is dialled, the best one first
  std::optional<Millis> round_trip;  // of the last heartbeat
  std::optional<Boot> boot;          // the newest life of it that is known
  std::uint16_t minor = 0;           // of the protocol, as the peer said last
  std::optional<Closing> last_end;   // of the link before
  std::string last_failure;          // of dialling it, a sentence for people; empty: none since the last link
  std::uint64_t links = 0;           // that came up since the start
  std::uint64_t bytes_in = 0;        // over streams, all purposes but control
  std::uint64_t bytes_out = 0;
  std::size_t streams_to = 0;    // in use, that we opened
  std::size_t streams_from = 0;  // in use, that the peer opened
};

// Called on the mesh's loop, in the order in which things happen. Must not destroy Peers.
class PeerEvents {
 public:
  virtual ~PeerEvents() = default;

  // A link is up, and both sides have the same members. May come again without link_down(): another link of the pair
  // took the place of the first, and what was sent lately may be lost. So whoever tells a state tells all of it anew.
  virtual void link_up(const NodeId&, const Hello&) {}
  virtual void link_down(const NodeId&, const Closing&) {}
  // Of a kind that isn't of links and Peers themselves.
  virtual void frame(const NodeId&, const Frame&) {}
  // Which peers are up has changed; comes after link_up() and link_down(), too.
  virtual void reach_changed() {}
  virtual void members_changed() {}
  // This node had lost its count of lives and has learnt it from a peer: what it said in this life is worth nothing.
  virtual void epoch_changed(const Boot&) {}
};

class Peers {
 public:
  using StreamHandler = std::function<void(std::unique_ptr<Stream>)>;

  virtual ~Peers() = default;

  // `events` outlives this, or forgets it. A listener that comes late isn't told what has happened: see view().
  virtual void listen(PeerEvents& events) = 0;
  virtual void forget(PeerEvents& events) = 0;

  // This node, and the life that it is in.
  virtual const NodeId& own() const = 0;
  virtual const Boot& boot() const = 0;
  // All members but this node, sorted by id.
  virtual std::vector<PeerView> view() const = 0;
  virtual bool is_up(const NodeId& peer) const = 0;

  // Puts the frame in the link's queue and never waits. A peer whose queue (4 MiB) is full doesn't keep up and loses
  // its link; without a link nothing happens.
  virtual void send(const NodeId& peer, Frame frame) = 0;

  // A stream to that peer, for http, copy or rpc: one that waits for use, costing no round trip; else a new one,
  // dialled, or by asking the peer to dial us. It is closed when the link of the pair ends. Destroying it closes it.
  // Errors: unreachable (no link), timed_out, overloaded (32 http, 4 copy, 40 rpc streams to that peer are in use),
  // revoked, link_closed; at most 5 s.
  virtual async::Task<Result<std::unique_ptr<Stream>>> open(NodeId peer, Purpose purpose) = 0;
  // Who takes streams that peers opened, one handler for each purpose (http, copy, rpc); comes with the first byte,
  // which is still to be read. Without a handler they are closed. An empty handler takes it off.
  virtual void on_stream(Purpose purpose, StreamHandler handler) = 0;

  // Requests that the peer says it holds, by its last heartbeat, and when that came; nothing without a link.
  virtual std::vector<InFlightId> held_by(const NodeId& peer) const = 0;
  virtual std::optional<MonoTime> last_heartbeat(const NodeId& peer) const = 0;
  // What we hold for that peer: it is told with each heartbeat. 256 at most are told.
  virtual void hold(const NodeId& for_peer, InFlightId id) = 0;
  virtual void release(const NodeId& for_peer, InFlightId id) = 0;

  // Somebody (nobody is trusted here) says that the peer may be at that address: one dial, soon, for the peer's key.
  virtual void hint(const NodeId& peer, const Address& address) = 0;

  // Counts a load for the peer; false if it had 4 in the last minute, and then nothing is counted.
  virtual bool take_load(const NodeId& peer) = 0;
};

}  // namespace corral::mesh
