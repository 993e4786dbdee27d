// Orders of administrators for other nodes' memory, sent over links: hold a model, unload one, host a split. Each node
// decides if it obeys (its setting mesh_admin; see MemberRuntime).
//
// Belongs to the loop of the mesh.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/base/peer_questions.h"
#include "mesh/catalog/content_key.h"

namespace corral::fleet {

// The numbers are sent over the wire.
enum class AllotCommand : std::uint8_t {
  assign = 1,     // hold this model
  nothing = 2,    // hold nothing for the mesh
  release = 3,    // hold what the allocation assigns
  unload = 4,     // unload this model, until a request needs it
  split = 5,      // host this model over these nodes
  end_split = 6,  // end that split
};

struct AllotAsk {
  AllotCommand command{};
  std::string name = {};                         // the sender's name of the model
  std::optional<mesh::ContentKey> content = {};  // of assign, unload and split
  std::vector<mesh::NodeId> nodes = {};          // of split
  std::uint64_t stamp = 0;                       // of split: higher than those that the sender knows (split_orders.h)
  friend bool operator==(const AllotAsk&, const AllotAsk&) = default;
};

mesh::Frame to_frame(std::uint64_t number, const AllotAsk& ask);
mesh::Frame to_frame(std::uint64_t number, const Result<>& answer);
// nullopt: the bytes are invalid.
struct NumberedAsk {
  std::uint64_t number = 0;
  AllotAsk ask;
};
std::optional<NumberedAsk> read_allot_ask(std::string_view payload);
std::optional<Result<>> read_allot_answer(std::string_view payload);

class AllotControl final : public mesh::PeerEvents {
 public:
  using Obey = std::function<Result<>(const mesh::NodeId& from, const AllotAsk& ask)>;

  // All outlive it; its creator registers it with peers.listen().
  AllotControl(async::Executor executor, async::Timers& timers, mesh::Peers& peers, Obey obey)
      : peers_(peers), obey_(std::move(obey)), questions_(executor, timers, peers) {}

  // Errors: those of PeerQuestions::ask(), and the node's answer, with its own cause if that is known here.
  async::Task<Result<>> ask(mesh::NodeId node, AllotAsk ask);

  void frame(const mesh::NodeId& from, const mesh::Frame& frame) override;

 private:
  mesh::Peers& peers_;
  const Obey obey_;
  PeerQuestions questions_;
};

}  // namespace corral::fleet
