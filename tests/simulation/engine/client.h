// Sessions as their clients see them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "engine/session/stream.h"
#include "engine/values/errors.h"
#include "engine/values/options.h"
#include "simulation/engine/fake_memory.h"

namespace corral::engine::simulation {

// Of one generation.
struct Reader {
  StreamHandle stream;
  std::vector<Token> tokens;
  std::string text;
  std::optional<Finish> finish;
  std::uint32_t max = 0;
  std::vector<std::string> stops;
  AdapterScales adapters;             // of the session
  std::optional<ContextShift> shift;  // and for that:
  std::vector<Token> history;         // of the session, from the start of the generation on
  std::uint32_t n_ctx = 0;
  bool poisoned = false;                    // what it is to continue can't be computed
  std::uint64_t history_hash = kEmptyHash;  // of the session's history when the generation started
};

struct Client {
  SessionId id;
  std::size_t worker = 0;
  bool shares = true;
  std::shared_ptr<SessionShared> shared;
  std::vector<Token> history;   // what it appended and what the streams said, in this order
  std::vector<Token> appended;  // while a generation ran
  std::optional<Reader> reader;
  std::optional<ContextShift> shift;  // of the generation that was started last

  // Takes what the stream has. The rule that this breaks, if any. `max_tokens`: that the session may hold.
  std::optional<std::string> read(std::uint32_t max_tokens);
  // The generation is over and read: what it said is part of the history.
  void go_on();
  bool failed(errc cause) const;
};

}  // namespace corral::engine::simulation
