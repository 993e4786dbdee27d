// Orders of copies at other nodes: asked for over their links, answered at once with how the copy is. Whether a node
// obeys is its own business (see Presence).
//
// Belongs to the loop of the mesh.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "async/timer.h"
#include "fleet/copy_view.h"
#include "fleet/peer_questions.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// What is wanted of a node. The numbers are the wire's.
enum class CopyWish : std::uint8_t {
  by_admin = 1,  // an administrator of the asking node wants the model there
  tell = 3,      // how is it?
};

struct CopyAsk {
  std::uint64_t number = 0;
  CopyWish wish{};
  Sha256 content{};
  friend bool operator==(const CopyAsk&, const CopyAsk&) = default;
};
struct CopyAnswer {
  std::uint64_t number = 0;
  Result<CopyView> view;
};
mesh::Frame to_frame(const CopyAsk& ask);
mesh::Frame to_frame(const CopyAnswer& answer);
// Nothing when the bytes make no sense.
std::optional<CopyAsk> read_copy_ask(std::string_view payload);
std::optional<CopyAnswer> read_copy_answer(std::string_view payload);

class CopyErrands final : public mesh::PeerEvents {
 public:
  static constexpr Millis kPatience = PeerQuestions::kPatience;
  static constexpr mesh::Pace kPace = PeerQuestions::kPace;
  using Obey = std::function<Result<CopyView>(const mesh::NodeId& from, const CopyAsk& ask)>;

  // All outlive it; whoever makes it calls peers.listen(errands).
  CopyErrands(async::Executor executor, async::Timers& timers, mesh::Peers& peers, Obey obey)
      : peers_(peers), obey_(std::move(obey)), questions_(executor, timers, peers) {}

  // Errors: unreachable (no link), timed_out, too_many (questions); what the node says, with its own cause where that
  // is known here.
  async::Task<Result<CopyView>> ask(mesh::NodeId node, CopyWish wish, Sha256 content);

  void frame(const mesh::NodeId& from, const mesh::Frame& frame) override;

 private:
  mesh::Peers& peers_;
  const Obey obey_;
  PeerQuestions questions_;
};

}  // namespace corral::fleet
