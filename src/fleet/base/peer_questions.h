// Questions to other nodes over their links. Each is answered by one frame. They are sent no faster than a node accepts
// them, and have a time limit. This class knows nothing of their content, except that both begin with the number.
//
// Belongs to the loop of the mesh.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/timer.h"
#include "mesh/net/token_bucket.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

class PeerQuestions {
 public:
  static constexpr Millis kPatience{5'000};
  // Rate of questions to one node, well below its limit (mesh/peers/streams/frame_budget.h): beyond that limit the link
  // ends.
  static constexpr mesh::RateLimit kPace{.each_second = 3, .at_once = 28};

  PeerQuestions(async::Executor executor, async::Timers& timers, mesh::Peers& peers)
      : executor_(executor), timers_(timers), peers_(peers) {}

  // Sends the frame that `make` makes of the question's number; returns the answer's payload. Errors: unreachable (no
  // link), timed_out, too_many (questions).
  async::Task<Result<std::string>> ask(mesh::NodeId node, std::function<mesh::Frame(std::uint64_t number)> make);
  // An answer has come. Answers without a waiting question are ignored.
  void answered(const mesh::NodeId& from, std::string_view payload);

 private:
  static constexpr std::size_t kMaxPaces = 64;
  struct Question {
    explicit Question(async::Executor executor) : answered(executor) {}
    async::Event answered;
    std::optional<std::string> payload;
  };
  static async::Task<bool> wait(std::shared_ptr<Question> question);

  const async::Executor executor_;
  async::Timers& timers_;
  mesh::Peers& peers_;
  std::uint64_t last_ = 0;
  std::map<mesh::NodeId, mesh::TokenBucket> paces_;
  std::map<std::pair<mesh::NodeId, std::uint64_t>, std::shared_ptr<Question>> questions_;
};

// Text of another node for display: no control characters.
std::string shown_text(std::string_view text, std::size_t limit);

}  // namespace corral::fleet
