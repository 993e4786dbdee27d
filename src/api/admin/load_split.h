// Loads a model over several nodes by user order: sends the order to the node that hosts it, and watches the group
// until it serves or fails.
#pragma once

#include <string>
#include <vector>

#include "api/base/context.h"
#include "backends/wrapped_server.h"
#include "fleet/node/member_runtime.h"

namespace corral::api {

// Progress, as far as this node knows it.
struct SplitProgress {
  std::string stage = "queued";  // waiting, claiming, loading
  double progress = 0;
};

class SplitLoad {
 public:
  static constexpr Millis kLook{250};
  static constexpr Millis kPatience{90'000};   // for a group that can't start: an idle model is evicted within a minute
  static constexpr Millis kForgotten{5'000};   // for a host whose state lacks the order
  static constexpr Millis kFirstWords{5'000};  // for the first node states

  SplitLoad(CoreContext& context, backends::ModelPtr model, std::vector<std::string> nodes)
      : context_(context), model_(std::move(model)), nodes_(std::move(nodes)) {}

  // True, once the group serves. A group that can't start is given up; if the client disconnects, the group stays.
  // Errors: those of MemberRuntime::split(); nowhere: why it failed.
  async::Task<Result<bool>> run();
  SplitProgress progress() const { return progress_; }

 private:
  async::Task<Result<fleet::MemberRuntime::Split>> order();
  // Nothing: not decided yet.
  std::optional<Result<bool>> look(const fleet::MemberRuntime::Split& split);

  CoreContext& context_;
  const backends::ModelPtr model_;
  const std::vector<std::string> nodes_;
  SplitProgress progress_;
  std::optional<MonoTime> troubled_;  // since when a problem prevents the start
  // the host's state lacks the order: the order has ended, or another one replaced it
  bool forgotten_ = false;
  bool looked_ = false;
};

}  // namespace corral::api
