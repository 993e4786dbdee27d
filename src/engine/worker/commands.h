// Commands of other threads to a generating worker, in the order of posting.
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "engine/schedule/prefill_lane.h"
#include "engine/session/session.h"
#include "engine/session/session_listing.h"
#include "engine/session/worker_options.h"
#include "engine/threads/mailbox.h"
#include "engine/values/stats.h"

namespace corral::engine {

struct CreateSession {
  std::shared_ptr<SessionShared> session;
  bool share = true;
};
struct AppendTokens {
  SessionId session;
  std::vector<Token> tokens;
  std::vector<MediaSpan> media = {};  // in these tokens
};
struct StartGeneration {
  SessionId session;
  Generation generation;
};
struct CancelGeneration {
  SessionId session;
  const StreamState* stream = nullptr;  // cancel only this stream; nullptr: the running one
};
struct EndSession {
  SessionId session;
};
// Frees cells and compute buffers, unless a generation runs or waits. Calls `done` with the result on the decode
// thread.
struct Downsize {
  std::move_only_function<void(DownsizeReport)> done;
};
struct DescribeSessions {
  std::shared_ptr<SessionListing> to;
  std::uint32_t worker = 0;
};

using Command = std::variant<CreateSession, AppendTokens, StartGeneration, CancelGeneration, EndSession, Downsize,
                             SetThreads, DescribeSessions, PrefillStep, PrefillResult>;
using CommandBox = Mailbox<Command>;

}  // namespace corral::engine
