// The transport below links: byte streams between two nodes that know each other's key, and the network that makes
// them. Real streams are TLS over TCP (tls/), those of tests and simulations are in memory
// (memory_network_for_tests.h). Both have the same contract, which link_contract_test.cpp checks.
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

// The purpose of a connection. Its name in ALPN contains the major version of the protocol: nodes of different majors
// have no name in common, so the handshake fails; there is no fallback.
enum class Purpose : std::uint8_t {
  control,  // a link
  http,
  copy,
  join,
  back,     // reverse dial: the dialling node accepts the stream
  rpc = 6,  // between an engine and an RPC worker; earlier versions have a purpose 5
};
std::string_view alpn_of(Purpose purpose);
std::optional<Purpose> purpose_of(std::string_view alpn);

struct Peer {
  PublicKey key;
  NodeId id;
  std::string address;   // of the other end, for people
  bool dialled = false;  // by us
};

class Stream {
 public:
  virtual ~Stream() = default;

  virtual const Peer& peer() const = 0;
  virtual Purpose purpose() const = 0;

  // Reads available bytes, at least one; 0 at the end that the peer announced. Errors: link_closed.
  virtual async::Task<Result<std::size_t>> read_some(std::span<char> space) = 0;
  // Returns when all bytes were passed to the transport. Errors: link_closed.
  virtual async::Task<Result<>> write(std::string_view bytes) = 0;
  // Announces the end: the peer reads the written bytes, then 0. The stream can still be read.
  virtual async::Task<void> finish() = 0;
  // At once; a pending read or write ends with link_closed.
  virtual void close() = 0;
  // Waits until there are bytes to read, and reads none: false at the end that the peer announced. Counts as a reader.
  // Errors: link_closed.
  virtual async::Task<Result<bool>> readable() = 0;
  // No byte has come and the stream hasn't ended, as far as this node knows: a stream that waits for its use is usable.
  virtual bool is_quiet() const = 0;

  // 32 bytes that only the two ends of this connection have, and no other connection of the same nodes (RFC 5705).
  virtual Sha256 exporter(std::string_view label) const = 0;
};

// Called before anything is done for a node that dials us; an error rejects it. Strangers with a token have purpose
// join; all other purposes are for members. The dialler can distinguish revoked and not_a_member.
using PeerAuthorizer = std::function<Result<>(const PublicKey& peer, Purpose purpose)>;

// The source of an address. An address from members costs only dials, and slow names from members delay no names of
// other sources.
enum class Origin : std::uint8_t {
  settings,  // this node's administrator
  link,      // a connection to it succeeded
  other,     // any other source
};
inline constexpr std::size_t kOrigins = 3;

// An address to dial.
struct Place {
  Place(Address where, Origin by = Origin::other) : address(std::move(where)), origin(by) {}
  Address address;
  Origin origin;
};

class Network {
 public:
  virtual ~Network() = default;

  // To one of `pins`. Errors: unreachable, timed_out, wrong_peer, handshake_failed, and the other side's rejection of
  // us: revoked, not_a_member.
  virtual async::Task<Result<std::unique_ptr<Stream>>> dial(Place place, std::vector<NodeId> pins, Purpose purpose) = 0;
  // The next incoming connection that the PeerAuthorizer accepted. Errors: link_closed, if this node doesn't listen.
  virtual async::Task<Result<std::unique_ptr<Stream>>> accept() = 0;
};

// Reads exactly `count` bytes. Errors: link_closed, also if the stream ends before.
async::Task<Result<std::string>> read_exactly(Stream& stream, std::size_t count);

}  // namespace corral::mesh
