// The real network: mutual TLS 1.3 over TCP.
//
// Strangers, which are peers that aren't known as members yet, have limits: `max_pending` connections in their
// handshake or joining at a time, `max_pending_per_address` of one address. A new connection over a limit replaces
// the oldest one, so that idle strangers can't block others. Handshakes have a rate limit. Belongs to one loop, which
// should be no loop of local requests.
#pragma once

#include <memory>

#include "async/timer.h"
#include "mesh/identity/keys.h"
#include "mesh/net/stream.h"
#include "mesh/net/tls/name_queues.h"
#include "mesh/net/token_bucket.h"

namespace corral::mesh {

struct TlsOptions {
  Millis dial{3000};       // for finding the address and connecting
  Millis handshake{3000};  // from there to a stream
  std::size_t max_pending = 16;
  std::size_t max_pending_per_address = 4;
  std::size_t max_per_member_address = 64;  // of an address with a recent member; outside the limit for strangers
  // A handshake costs the loop half a millisecond. Connections over these limits are closed before their handshake.
  // Addresses with a recent member have limits of their own, so that strangers can't use up those of members.
  RateLimit handshakes{100, 200};
  RateLimit handshakes_per_address{25, 100};
  RateLimit handshakes_per_member_address{200, 400};
  RateLimit handshakes_of_members{400, 800};  // of all such addresses together
  std::size_t max_waiting = 64;               // streams that wait for accept()
  LookUp look_up = ask_system;                // finds the addresses of names
};

class TlsNetwork final : public Network {
 public:
  // `timers` outlives it.
  TlsNetwork(async::Executor executor, const SigningKey& key, async::Timers& timers, TlsOptions options = TlsOptions());
  // Closes the port and connections in their handshake; streams that callers own stay.
  ~TlsNetwork() override;
  TlsNetwork(const TlsNetwork&) = delete;
  TlsNetwork& operator=(const TlsNetwork&) = delete;

  // Once. `at.host` is an address of this machine ("0.0.0.0", "::"), port 0 any free one. Returns the bound address.
  // Errors: bad_address; unreachable, if the port is in use.
  Result<Address> listen(const Address& at, PeerAuthorizer authorizer);

  async::Task<Result<std::unique_ptr<Stream>>> dial(Place place, std::vector<NodeId> pins, Purpose purpose) override;
  async::Task<Result<std::unique_ptr<Stream>>> accept() override;

  // Count of connections in their handshake, or joining.
  std::size_t pending() const;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace corral::mesh
