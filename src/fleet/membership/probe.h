// Checks whether peers can reach this node: a peer is asked, over its link, to dial an address of ours, and returns the
// result and its time. For `corral mesh doctor`.
//
// A peer can request a dial to an address of another machine. So the request has the same limits as a hint: one dial
// with the peer's key pinned, one at a time for each peer. Belongs to the loop of the mesh.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// The request to dial, and its result.
struct ProbeAsk {
  std::uint64_t number = 0;
  mesh::Address address;
};
struct ProbeAnswer {
  std::uint64_t number = 0;
  WallTime time;        // of the peer
  std::string problem;  // why the dial failed; empty: it succeeded
};
mesh::Frame to_frame(const ProbeAsk& ask);
mesh::Frame to_frame(const ProbeAnswer& answer);
// nullopt: the bytes are invalid.
std::optional<ProbeAsk> read_probe_ask(std::string_view payload);
std::optional<ProbeAnswer> read_probe_answer(std::string_view payload);

// The peer's result.
struct ProbeResult {
  std::string problem = {};  // why the dial failed; empty: it succeeded
  Millis clock_ahead{0};     // the peer's clock minus ours; includes half the round trip
};

class Probe final : public mesh::PeerEvents {
 public:
  static constexpr Millis kPatience{8'000};  // a dial may take six seconds

  // All outlive it; its creator calls peers.listen(probe), and peers.forget(probe) before stop().
  Probe(async::Executor executor, async::Timers& timers, mesh::Peers& peers, mesh::Network& network);

  // Errors: mesh::errc::timed_out.
  async::Task<Result<ProbeResult>> ask(mesh::NodeId peer, mesh::Address address);
  // Starts no more dials, and waits for running ones.
  async::Task<void> stop();

  void frame(const mesh::NodeId& from, const mesh::Frame& frame) override;

 private:
  struct Question {
    explicit Question(async::Executor executor) : answered(executor) {}
    async::Event answered;
    std::optional<ProbeAnswer> answer;
  };
  async::Task<bool> wait(std::shared_ptr<Question> question);
  async::Task<void> serve(mesh::NodeId from, ProbeAsk ask);

  const async::Executor executor_;
  async::Timers& timers_;
  mesh::Peers& peers_;
  mesh::Network& network_;
  bool stopped_ = false;
  std::uint64_t last_ = 0;
  std::map<std::pair<mesh::NodeId, std::uint64_t>, std::shared_ptr<Question>> questions_;
  std::set<mesh::NodeId> serving_;
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
