// Reverse dials of one pair: streams that the peer was asked to dial, and requests of the peer. Belongs to the mesh's
// loop.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "mesh/peers/peer_exchange.h"
#include "mesh/peers/streams/signal.h"

namespace corral::mesh {

// A stream that a peer was asked to dial.
struct ExpectedStream {
  explicit ExpectedStream(async::Executor executor) : arrived(executor) {}
  Signal arrived;  // or cancelled
  std::unique_ptr<Stream> stream;
  bool given_up = false;  // the peer can no longer be reached
};

class ReverseDials {
 public:
  explicit ReverseDials(async::Executor executor) : executor_(executor) {}

  // Expects a stream with that number until forget().
  std::shared_ptr<ExpectedStream> expect(std::uint64_t number);
  void forget(std::uint64_t number) { expected_.erase(number); }
  // A stream with that number arrived; closes it if no task expects it.
  void arrived(std::uint64_t number, std::unique_ptr<Stream> stream);
  // Ends all waits for streams.
  void give_up();

  // Adds a request of the peer; drops it if too many wait.
  void add(const ReverseDialRequest& request);
  std::optional<ReverseDialRequest> next();

 private:
  const async::Executor executor_;
  std::map<std::uint64_t, std::shared_ptr<ExpectedStream>> expected_;
  std::deque<ReverseDialRequest> requests_;
};

}  // namespace corral::mesh
