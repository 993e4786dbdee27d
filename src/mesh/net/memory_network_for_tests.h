// A network in memory, for tests and simulations: any number of nodes in one process, on one loop and one clock, with
// the faults of real networks. Its streams keep the contract of real ones.
#pragma once

#include <memory>

#include "async/timer.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

class MemoryNetwork {
 public:
  struct Options {
    Millis dial_limit{3000};                 // of a dial without an answer
    std::size_t max_in_flight = 256 * 1024;  // bytes, each way of each stream
  };

  // `timers` outlives the network, the network its nodes and streams.
  MemoryNetwork(async::Executor executor, async::Timers& timers) : MemoryNetwork(executor, timers, Options()) {}
  MemoryNetwork(async::Executor executor, async::Timers& timers, Options options);
  ~MemoryNetwork();

  // A node with that key at that address. Without an authorizer it only dials. Destroying it breaks all its streams, as
  // the end of a process does.
  std::unique_ptr<Network> add(const PublicKey& key, Address address, PeerAuthorizer authorizer);

  // Holds back everything from `from` to `to`, until heal().
  void cut(const PublicKey& from, const PublicKey& to);
  void heal(const PublicKey& from, const PublicKey& to);
  // Delays bytes that are sent from now on; later bytes never overtake earlier ones.
  void delay(const PublicKey& from, const PublicKey& to, Millis delay);

  struct Air;

 private:
  std::shared_ptr<Air> air_;
};

}  // namespace corral::mesh
