// Makes the drafter of a generative model, with its costs.
#include <utility>

#include "engine/fit/memory_estimate.h"
#include "engine/llama/context.h"
#include "engine/llama/context_params.h"
#include "engine/service/inference_engine_impl.h"
#include "engine/speculate/model_drafter.h"
#include "engine/speculate/ngram_drafter.h"

namespace corral::engine {

bool InferenceEngine::Impl::may_draft() const {
  return options.speculative.max_tokens > 0 && model->facts().kind == ModelKind::generative &&
         model->memory_rules().drafts;
}

Result<> InferenceEngine::Impl::load_draft() {
  if (!may_draft() || options.speculative.draft_path.empty()) return {};
  auto loaded = load_draft_model(options, *model);
  if (!loaded)
    return std::unexpected(explain_failure(loaded.error(), draft_options(options, options.n_ctx), read_host_memory()));
  draft_model = std::move(*loaded);
  return {};
}

Result<std::unique_ptr<Drafter>> InferenceEngine::Impl::make_drafter(std::uint32_t n_ctx) {
  if (!may_draft()) return nullptr;
  if (!draft_model) return std::make_unique<NgramDrafter>();

  const EngineLoadOptions draft = draft_options(options, n_ctx);
  KvMaker make = [this, draft](KvShape shape) -> Result<std::unique_ptr<KvMemory>> {
    return LlamaContext::make(draft_model, draft, go_on, shape);
  };
  auto memory = make({});
  if (!memory) return std::unexpected(explain_failure(memory.error(), draft, read_host_memory(), FailedPart::context));
  const double size = static_cast<double>(draft_model->facts().model_bytes);
  const ModelDrafterOptions how{.sessions = draft.max_sequences,
                                .least_probability = options.speculative.draft_probability,
                                .pass_cost = size / static_cast<double>(model->facts().model_bytes)};
  return std::make_unique<ModelDrafter>(*draft_model, model->facts().n_vocab, std::move(*memory), std::move(make), how);
}

}  // namespace corral::engine
