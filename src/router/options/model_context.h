// How many tokens a conversation with a model may have, and what memory that takes. Plain values.
#pragma once

#include <cstdint>
#include <string>

namespace corral::router {

struct ModelContext {
  std::uint64_t usable = 0;   // now, where it is in memory; else as a load would give it now
  std::uint64_t trained = 0;  // 0: its file doesn't say
  std::int64_t asked = -1;    // ctx_size of the load, after all sources; not above 0: automatic
  std::uint64_t memory = 0;   // bytes, in all, of what is loaded; else of the smallest load; 0: not known
  // Of the smallest load, whatever is loaded: bytes of the KV cells that it begins with, and of its buffers.
  std::uint64_t cache = 0, compute = 0;
  bool predicted = false;  // by the engine; else guessed from the file
};

// What whoever asked for the context should know of it; empty: nothing.
std::string warning_of(const ModelContext& context);

}  // namespace corral::router
