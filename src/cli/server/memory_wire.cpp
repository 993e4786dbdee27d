#include "cli/server/memory_wire.h"

#include "cli/server/answer_fields.h"

namespace corral::cli {

Result<MemoryPools> parse_memory(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    MemoryPools pools;
    each(value, "pools", [&](const json::Value& pool) {
      auto name = text_of(pool, "name");
      if (name.empty()) name = text_of(pool, "id");
      pools.push_back({.name = std::move(name),
                       .total = bytes_of(pool, "total_bytes").value_or(0),
                       .free = bytes_of(pool, "available_bytes").value_or(0)});
    });
    return pools;
  });
}

}  // namespace corral::cli
