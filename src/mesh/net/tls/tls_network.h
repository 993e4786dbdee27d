// The real network: mutual TLS 1.3 over TCP.
//
// Before a peer is known to be a member it costs little: `max_strangers` connections are in their handshake or joining
// at a time, `max_strangers_per_address` of one address; a newcomer over that takes the place of the oldest, so
// that those who do nothing keep nobody out. And so many handshakes a second are begun. Belongs to one loop, which
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
  std::size_t max_strangers = 16;
  std::size_t max_strangers_per_address = 4;
  std::size_t most_per_member_address = 64;  // from which a member came lately; they don't count as strangers
  // A handshake costs the loop half a millisecond. Connections over these go before theirs begins. Addresses from
  // which members came lately count by themselves, so that strangers don't use up what members need.
  RateLimit handshakes{100, 200};
  RateLimit handshakes_per_address{25, 100};
  RateLimit handshakes_per_member_address{200, 400};
  RateLimit handshakes_of_members{400, 800};  // of all such addresses together
  std::size_t max_waiting = 64;               // streams that nobody has accepted yet
  LookUp look_up = ask_system;                // finds the addresses of names
};

class TlsNetwork final : public Network {
 public:
  // `timers` outlives it.
  TlsNetwork(async::Executor executor, const SigningKey& key, async::Timers& timers, TlsOptions options = TlsOptions());
  // Closes the port and what is in its handshake; streams that were given out stay.
  ~TlsNetwork() override;
  TlsNetwork(const TlsNetwork&) = delete;
  TlsNetwork& operator=(const TlsNetwork&) = delete;

  // Once. `at.host` is an address of this machine ("0.0.0.0", "::"), port 0 any free one. Returns what it became.
  // Errors: bad_address; unreachable, when the port is taken.
  Result<Address> listen(const Address& at, PeerAuthorizer authorizer);

  async::Task<Result<std::unique_ptr<Stream>>> dial(Place place, std::vector<NodeId> pins, Purpose purpose) override;
  async::Task<Result<std::unique_ptr<Stream>>> accept() override;

  // In their handshake, or joining.
  std::size_t strangers() const;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace corral::mesh
