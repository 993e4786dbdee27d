// What links run over: streams of bytes between two nodes that know each other's key, and the network that makes them.
// Real ones are TLS over TCP (tls/), those of tests and simulations are in memory (memory_network_for_tests.h); both
// keep the same contract, which link_contract_test.cpp holds them to.
//
// Belongs to one loop. One reader and one writer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "async/timer.h"
#include "mesh/identity/address.h"
#include "mesh/identity/keys.h"

namespace corral::mesh {

// What a connection is for. Its name in ALPN holds the major version of the protocol: nodes of different majors have no
// name in common and fail in the handshake; there is no falling back.
enum class Purpose : std::uint8_t {
  control,  // a link
  http,
  copy,
  join,
  back,     // the other way round: the node that was asked to dial is the one that takes the stream
  rpc = 6,  // between an engine and a worker that computes layers for it; earlier versions have a purpose 5
};
std::string_view alpn_of(Purpose purpose);
std::optional<Purpose> purpose_of(std::string_view alpn);

struct Peer {
  PublicKey key;
  NodeId id;
  std::string address;   // for people: where the connection goes to or comes from
  bool dialled = false;  // by us
};

class Stream {
 public:
  virtual ~Stream() = default;

  virtual const Peer& peer() const = 0;
  virtual Purpose purpose() const = 0;

  // What is there, at least a byte; 0 at the end that the peer announced. Errors: link_closed.
  virtual async::Task<Result<std::size_t>> read_some(std::span<char> space) = 0;
  // Returns when all was handed on. Errors: link_closed.
  virtual async::Task<Result<>> write(std::string_view bytes) = 0;
  // Announces the end: the peer reads what was written, then 0. The stream can still be read.
  virtual async::Task<void> finish() = 0;
  // At once; a pending read or write ends with link_closed.
  virtual void close() = 0;
  // Waits until there is something to read, and reads nothing: false at the end that the peer announced. Counts as a
  // reader. Errors: link_closed.
  virtual async::Task<Result<bool>> readable() = 0;
  // Nothing has come and nothing has ended, as far as is known here: a stream that waits for its use may be used.
  virtual bool is_quiet() const = 0;

  // 32 bytes that both ends of this connection have and nobody else, other connections of the same two nodes included
  // (RFC 5705).
  virtual Sha256 exporter(std::string_view label) const = 0;
};

// Asked before anything is done for a node that dials us: nothing when it may come, else why not. `purpose` is join for
// strangers that hold a token; all other purposes are for members. The dialler is told revoked and not_a_member apart.
using PeerAuthorizer = std::function<Result<>(const PublicKey& peer, Purpose purpose)>;

// Who says that a node is there. What members tell costs dials only, and names that they tell keep nobody else's
// waiting.
enum class Origin : std::uint8_t {
  settings,  // this node's administrator
  link,      // a connection came about there
  told,      // whoever
};
inline constexpr std::size_t kOrigins = 3;

// Where to dial.
struct Place {
  Place(Address where, Origin by = Origin::told) : address(std::move(where)), origin(by) {}
  Address address;
  Origin origin;
};

class Network {
 public:
  virtual ~Network() = default;

  // To one of `pins`. Errors: unreachable, timed_out, wrong_peer, handshake_failed, and what the other side's
  // doorkeeper said of us: revoked, not_a_member.
  virtual async::Task<Result<std::unique_ptr<Stream>>> dial(Place place, std::vector<NodeId> pins, Purpose purpose) = 0;
  // The next connection that came to us and that the doorkeeper let pass. Errors: link_closed, when nobody listens.
  virtual async::Task<Result<std::unique_ptr<Stream>>> accept() = 0;
};

// So many bytes, none beyond. Errors: link_closed, also when the stream ends before.
async::Task<Result<std::string>> read_exactly(Stream& stream, std::size_t count);

}  // namespace corral::mesh
