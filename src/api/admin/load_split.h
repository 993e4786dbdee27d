// Loading a model over several nodes by hand: ordered at the node that hosts it, and watched until it serves or it is
// clear why it doesn't.
#pragma once

#include <string>
#include <vector>

#include "api/context.h"
#include "backends/wrapped_server.h"
#include "fleet/node/node.h"

namespace corral::api {

// How it goes, as far as this node knows.
struct SplitProgress {
  std::string stage = "queued";  // waiting, claiming, loading
  double progress = 0;
};

class SplitLoad {
 public:
  static constexpr Millis kLook{250};
  static constexpr Millis kPatience{90'000};   // with what keeps it from being: what is idle for a minute goes
  static constexpr Millis kForgotten{5'000};   // that its host doesn't say that it was told
  static constexpr Millis kFirstWords{5'000};  // of its nodes

  SplitLoad(ApiContext& context, backends::ModelPtr model, std::vector<std::string> nodes)
      : context_(context), model_(std::move(model)), nodes_(std::move(nodes)) {}

  // True, once it serves. One that can't be is given up; who goes away leaves it to be. Errors: those of Node::split();
  // nowhere: why it came to nothing.
  async::Task<Result<bool>> run();
  SplitProgress progress() const { return progress_; }

 private:
  async::Task<Result<fleet::Node::Split>> order();
  // Nothing: not yet.
  std::optional<Result<bool>> look(const fleet::Node::Split& split);

  ApiContext& context_;
  const backends::ModelPtr model_;
  const std::vector<std::string> nodes_;
  SplitProgress progress_;
  std::optional<MonoTime> troubled_;  // since then something keeps it from being
  bool forgotten_ = false;            // its host doesn't say that it was told: it has ended, or was told otherwise
  bool looked_ = false;
};

}  // namespace corral::api
