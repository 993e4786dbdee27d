// What goes into a pass and what could have gone in, for whoever checks the rules of scheduler.h.
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
    std::uint32_t tokens = 0;  // so many of its pending ones go in; 0: it has to wait
    std::uint32_t drafts = 0;  // behind them, with those that only make all sessions' rows equally many
    bool other = false;        // it has other adapters than the pass
  };
  std::vector<Row> sessions;  // all that have a place
  BatchLimits limits;
  std::uint32_t padding = 0;  // rows that nobody wants (pass_rows.h)
  bool alone = false;         // a pass failed, and one of those in it computes by itself: no limit of `limits` counts
};

}  // namespace corral::engine
