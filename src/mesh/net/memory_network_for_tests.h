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
    Millis dial_limit{3000};                 // a dial into nowhere ends then
    std::size_t max_in_flight = 256 * 1024;  // bytes, each way of each stream
  };

  // `timers` outlives the network, the network its nodes and streams.
  MemoryNetwork(async::Executor executor, async::Timers& timers) : MemoryNetwork(executor, timers, Options()) {}
  MemoryNetwork(async::Executor executor, async::Timers& timers, Options options);
  ~MemoryNetwork();

  // A node with that key at that address. Without a doorkeeper it only dials. Destroying it breaks all its streams, as
  // the end of a process does.
  std::unique_ptr<Network> add(const PublicKey& key, Address address, PeerAuthorizer authorizer);

  // Nothing of `from` arrives at `to` any more; it is kept, and comes when the path is whole again.
  void cut(const PublicKey& from, const PublicKey& to);
  void heal(const PublicKey& from, const PublicKey& to);
  // What is sent from now on takes so long; later bytes never come before earlier ones.
  void delay(const PublicKey& from, const PublicKey& to, Millis delay);

  struct Air;

 private:
  std::shared_ptr<Air> air_;
};

}  // namespace corral::mesh
