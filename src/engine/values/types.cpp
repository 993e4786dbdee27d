#include "engine/values/types.h"

#include <array>

#include "engine/values/session_view.h"

namespace corral::engine {
namespace {
constexpr std::array kReasons = {"stop",          "length",     "cancelled", "context_full",
                                 "session_ended", "superseded", "shutdown",  "error"};
constexpr std::array kKinds = {"generative", "embedding", "reranker"};
constexpr std::array kPoolings = {"none", "mean", "cls", "last", "rank"};
constexpr std::array kStates = {"idle", "waiting", "prefill", "decoding", "paused", "parked"};
}  // namespace

const char* to_string(FinishReason reason) { return kReasons.at(static_cast<std::size_t>(reason)); }
const char* to_string(ModelKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }
const char* to_string(Pooling pooling) { return kPoolings.at(static_cast<std::size_t>(pooling)); }
const char* to_string(SessionState state) { return kStates.at(static_cast<std::size_t>(state)); }

}  // namespace corral::engine
