// Provides the embeddings that sessions need next. While a picture or sound is encoded, its session waits, and may keep
// its cells. One thread.
#pragma once

#include <memory>
#include <utility>

#include "engine/kv/media_span.h"
#include "engine/session/fault_scope.h"
#include "engine/session/session_table.h"
#include "engine/worker/generation_finisher.h"

namespace corral::engine {

class MediaInputs {
 public:
  struct Parts {
    std::shared_ptr<MediaEncoder> encoder;  // nullptr: no session has pictures or sounds
    SessionTable& sessions;
    GenerationFinisher& finisher;
    FaultScope& faults;
  };
  explicit MediaInputs(Parts parts);

  // Whether the session's next cells can be computed. If not, it waits for an embedding, or its generation has ended
  // because there is none. Also orders the embeddings behind those. The session is active or waiting.
  bool ready(Session& session);
  // Active sessions without the embeddings that they need wait.
  void send_to_wait();

 private:
  const std::shared_ptr<MediaEncoder> encoder_;
  SessionTable& sessions_;
  GenerationFinisher& finisher_;
  FaultScope& faults_;
};

}  // namespace corral::engine
