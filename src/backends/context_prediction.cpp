#include "backends/context_prediction.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/context_size.h"

namespace corral::backends {
namespace {

// Bytes of 32 values in the KV cache.
constexpr std::pair<std::string_view, std::uint64_t> kTypeBytes[] = {{"f32", 128}, {"f16", 64},  {"bf16", 64},
                                                                     {"q8_0", 34}, {"q5_1", 24}, {"q5_0", 22},
                                                                     {"q4_1", 20}, {"q4_0", 18}, {"iq4_nl", 18}};
// Buffers of a pass, per cell.
constexpr std::uint64_t kBuffersPerToken = 8192;
constexpr std::uint64_t kCellMultiple = 256;

std::uint64_t bytes_of(const std::optional<std::string>& type) {
  const auto* const row =
      std::ranges::find(kTypeBytes, type.value_or("f16"), &std::pair<std::string_view, std::uint64_t>::first);
  return row == std::end(kTypeBytes) ? 64 : row->second;
}

std::uint64_t cache_from_file(const models::ModelInfo& model, const LoadOptions& options) {
  const std::uint64_t two = bytes_of(options.cache_type_k) + bytes_of(options.cache_type_v);
  return model.traits.cache_values * two / 64;
}

std::uint64_t from_file(const models::ModelInfo& model, const LoadOptions& options) {
  return cache_from_file(model, options) + kBuffersPerToken;
}

std::uint64_t from_estimate(const MemoryEstimate& estimate, std::uint64_t cells) {
  std::uint64_t bytes = 0;
  for (const auto& device : estimate.devices) bytes += device.kv + device.compute;
  return (bytes + cells - 1) / std::max<std::uint64_t>(cells, 1);
}

}  // namespace

std::uint64_t first_cells(const models::ModelInfo& model, const LoadOptions& options) {
  const auto asked = options.ctx_size.value_or(-1);
  if (asked > 0) return static_cast<std::uint64_t>(asked);
  const std::uint64_t trained = model.traits.context_length;
  return trained == 0 ? kFirstContext : std::min<std::uint64_t>(trained, kFirstContext);
}

std::uint64_t predicted_context(const models::ModelInfo& model, const LoadOptions& options,
                                const std::optional<MemoryEstimate>& estimate, std::uint64_t free) {
  const std::uint64_t trained = model.traits.context_length, cells = first_cells(model, options);
  if (options.ctx_size.value_or(-1) > 0) {
    // The engine rounds cells up.
    std::uint64_t made = (cells + kCellMultiple - 1) / kCellMultiple * kCellMultiple;
    if (model.type == ModelType::llm && options.kv_unified == false)
      made = std::min(made, static_cast<std::uint64_t>(context_of_request(options)));
    return trained == 0 ? made : std::min(made, trained);
  }
  if (model.type != ModelType::llm || free == 0) return cells;
  const auto contexts = static_cast<std::uint64_t>(std::max<std::int64_t>(options.workers.value_or(1), 1));
  const ContextMemory memory[] = {
      {.per_token = estimate ? from_estimate(*estimate, cells) : from_file(model, options) * contexts,
       .free = free - std::min(free, model.size.value())}};
  return automatic_context(trained, memory);
}

std::uint64_t estimated_memory(const models::ModelInfo& model, const LoadOptions& options) {
  return model.size.value() + estimated_cache(model, options) + estimated_buffers(model, options);
}

std::uint64_t estimated_cache(const models::ModelInfo& model, const LoadOptions& options) {
  return first_cells(model, options) * cache_from_file(model, options);
}

std::uint64_t estimated_buffers(const models::ModelInfo& model, const LoadOptions& options) {
  return first_cells(model, options) * kBuffersPerToken;
}

}  // namespace corral::backends
