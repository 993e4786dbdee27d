// What administrators want of other nodes' memory, asked for over their links: to have a model, to give one back, to
// host a split. Whether a node obeys is its own business (its setting mesh_admin; see MemberRuntime).
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

// The numbers are the wire's.
enum class AllotCommand : std::uint8_t {
  assign = 1,     // have this model
  nothing = 2,    // have nothing of the mesh's
  release = 3,    // have what the allocation gives you
  unload = 4,     // give this model back, until somebody asks for it
  split = 5,      // host this model over these nodes
  end_split = 6,  // no more
};

struct AllotAsk {
  AllotCommand wish{};
  std::string name = {};                         // of the model, at who asks
  std::optional<mesh::ContentKey> content = {};  // of assign, unload and split
  std::vector<mesh::NodeId> nodes = {};          // of split
  std::uint64_t stamp = 0;                       // of split: above those that who asks has heard of (split_orders.h)
  friend bool operator==(const AllotAsk&, const AllotAsk&) = default;
};

mesh::Frame to_frame(std::uint64_t number, const AllotAsk& ask);
mesh::Frame to_frame(std::uint64_t number, const Result<>& answer);
// Nothing when the bytes make no sense.
struct NumberedAsk {
  std::uint64_t number = 0;
  AllotAsk ask;
};
std::optional<NumberedAsk> read_allot_ask(std::string_view payload);
std::optional<Result<>> read_allot_answer(std::string_view payload);

class AllotControl final : public mesh::PeerEvents {
 public:
  using Obey = std::function<Result<>(const mesh::NodeId& from, const AllotAsk& ask)>;

  // All outlive it; whoever makes it calls peers.listen(errands).
  AllotControl(async::Executor executor, async::Timers& timers, mesh::Peers& peers, Obey obey)
      : peers_(peers), obey_(std::move(obey)), questions_(executor, timers, peers) {}

  // Errors: those of PeerQuestions::ask(); what the node says, with its own cause where that is known here.
  async::Task<Result<>> ask(mesh::NodeId node, AllotAsk ask);

  void frame(const mesh::NodeId& from, const mesh::Frame& frame) override;

 private:
  mesh::Peers& peers_;
  const Obey obey_;
  PeerQuestions questions_;
};

}  // namespace corral::fleet
