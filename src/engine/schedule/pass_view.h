// Content of a pass and its alternatives, for checks of the rules of scheduler.h.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/schedule/scheduler.h"
#include "engine/values/types.h"

namespace corral::engine {

struct PassView {
  struct Row {
    SessionId session;
    RunnableView state;
    std::uint32_t tokens = 0;  // number of its pending tokens in the pass; 0: it waits
    std::uint32_t drafts = 0;  // draft tokens behind them, with padding rows between the sessions
    bool other = false;        // its adapters differ from those of the pass
  };
  std::vector<Row> sessions;  // all admitted sessions
  BatchLimits limits;
  std::uint32_t padding = 0;  // padding rows at the end (pass_rows.h)
  bool alone = false;         // a pass failed, and one of its sessions computes alone: `limits` do not apply
};

}  // namespace corral::engine
