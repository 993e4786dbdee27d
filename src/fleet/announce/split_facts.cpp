#include "fleet/announce/split_facts.h"

#include <algorithm>

#include "base/context_size.h"
#include "mesh/allocation/split_plan.h"

namespace corral::fleet {
namespace {

std::uint64_t shared_out(std::uint64_t bytes, std::uint64_t layers) { return (bytes + layers - 1) / layers; }

}  // namespace

mesh::SplitModel split_facts(const models::ModelInfo& model, const router::ModelContext& context) {
  const auto& traits = model.traits;
  const bool known = traits.weights && traits.weights->layers > 0;
  if (!known || traits.layers < 2 || traits.layers > mesh::kMaxSplitLayers) return {};
  mesh::SplitModel split;
  split.layers = static_cast<std::uint32_t>(traits.layers);
  split.layer_bytes = shared_out(traits.weights->layers, traits.layers);
  split.cache_bytes = shared_out(context.cache, traits.layers);
  split.ends_bytes = traits.weights->ends;
  split.compute_bytes = context.compute;
  const std::uint64_t trained = traits.context_length == 0 ? kFirstContext : traits.context_length;
  // A context that the user has set is used as it is. Embeddings and scores need one pass, whatever the context.
  split.context =
      context.asked > 0 ? static_cast<std::uint64_t>(context.asked) : std::min<std::uint64_t>(kFirstContext, trained);
  split.max_context = context.asked > 0 || model.type != ModelType::llm ? split.context : trained;
  return split;
}

}  // namespace corral::fleet
