// Requests between simulated nodes, over the streams of real links: the entry chooses, and only it; the node that it
// asks serves or says that it hasn't got that model; what broke before its first byte is asked once more, at another
// node; what broke later has failed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/task_group.h"
#include "mesh/gossip/gossip.h"

namespace corral::mesh::simulation {

// All requests of a mesh, as nobody in it sees them.
struct Ledger {
  struct Request {
    ContentKey content;
    std::vector<NodeId> begun;  // who worked on it
    bool answering = false;     // its first byte came
    bool ended = false;
  };
  std::map<std::uint64_t, Request> requests;
  std::uint64_t answered = 0, refused = 0, failed = 0, replayed = 0, not_here = 0;
  std::size_t working = 0;  // at nodes that were asked
  std::function<void(std::string rule, std::string detail)> fail;

  std::size_t open() const;
};

// For tests of the checks: rules that desks break.
struct BrokenRequests {
  bool any_content = false;  // whoever has a model of that name serves it, whatever it is
  bool replays_on = false;   // what broke before its first byte is asked again without end
};

// One process of a node: what it asks and what it is asked.
class RequestPeer {
 public:
  // All outlive it. `truth`: what the node has.
  RequestPeer(Ledger& ledger, Peers& peers, Gossip& gossip, async::Timers& timers, async::Executor executor,
              const NodeState& truth, const BrokenRequests& broken = {});
  ~RequestPeer();
  RequestPeer(const RequestPeer&) = delete;
  RequestPeer& operator=(const RequestPeer&) = delete;

  // A request for what that name means here now.
  void ask(std::uint64_t id, const std::string& name);
  // The process ends; what runs has unwound a turn of the loop later.
  void close();

 private:
  enum class End : std::uint8_t { answered, not_here, unbegun, broken, failed };
  static async::Task<void> run(RequestPeer& self, std::uint64_t id);
  static async::Task<End> ask_one(RequestPeer& self, std::uint64_t id, NodeId node, ModelOnDisk model);
  static async::Task<End> read_answer(RequestPeer& self, std::uint64_t id, Stream& stream);
  static async::Task<void> serve(RequestPeer& self, std::unique_ptr<Stream> stream);
  const ModelOnDisk* find(const std::string& name, const std::optional<Sha256>& hash) const;
  void end(std::uint64_t id, std::uint64_t& counter);

  Ledger& ledger_;
  Peers& peers_;
  Gossip& gossip_;
  async::Timers& timers_;
  const NodeState& truth_;
  const BrokenRequests broken_;
  std::set<std::uint64_t> mine_;
  async::TaskGroup tasks_;
};

}  // namespace corral::mesh::simulation
