// Reverse dials of one pair: streams that the peer was asked to dial, and those that it asks for. Belongs to the mesh's
// loop.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "mesh/peers/peer_exchange.h"
#include "mesh/peers/signal.h"

namespace corral::mesh {

// A stream that a peer was asked to dial.
struct ExpectedStream {
  explicit ExpectedStream(async::Executor executor) : arrived(executor) {}
  Signal arrived;  // or given up
  std::unique_ptr<Stream> stream;
  bool given_up = false;  // who was asked to dial can't be reached any more
};

class ReverseDials {
 public:
  explicit ReverseDials(async::Executor executor) : executor_(executor) {}

  // Until forget().
  std::shared_ptr<ExpectedStream> expect(std::uint64_t number);
  void forget(std::uint64_t number) { expected_.erase(number); }
  // One with that number: closed when nobody expects it.
  void arrived(std::uint64_t number, std::unique_ptr<Stream> stream);
  // Ends all waits for streams.
  void give_up();

  // What the peer asks for; too many are dropped.
  void add(const ReverseDialRequest& request);
  std::optional<ReverseDialRequest> next();

 private:
  const async::Executor executor_;
  std::map<std::uint64_t, std::shared_ptr<ExpectedStream>> expected_;
  std::deque<ReverseDialRequest> requests_;
};

}  // namespace corral::mesh
