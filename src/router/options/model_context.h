// How many tokens a conversation with a model may have, and the memory for it. Plain values.
#pragma once

#include <cstdint>
#include <string>

#include "router/options/model_media.h"

namespace corral::router {

struct ModelContext {
  std::uint64_t usable = 0;   // of the loaded model; else of a load now
  std::uint64_t trained = 0;  // 0: unknown
  std::int64_t asked = -1;    // ctx_size of the load, after all sources; 0 or less: automatic
  std::uint64_t memory = 0;   // total bytes of the loaded model; else of the smallest load; 0: unknown
  // Of the smallest load, even if the model is loaded: bytes of its initial KV cells, and of its buffers.
  std::uint64_t cache = 0, compute = 0;
  bool predicted = false;                // by the engine; else estimated from the file
  Projector projector = Projector::own;  // of the loaded model; else of a load
};

// Warning for the requester of the context; empty: none.
std::string warning_of(const ModelContext& context);

}  // namespace corral::router
