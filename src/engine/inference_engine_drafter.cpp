// Who guesses for a generative model, and at what price.
#include <utility>

#include "engine/context.h"
#include "engine/context_params.h"
#include "engine/inference_engine_impl.h"
#include "engine/model_drafter.h"
#include "engine/ngram_drafter.h"

namespace corral::engine {
namespace {

// What checking guesses costs, measured with dense models: XX
GuessCosts guess_costs(const Model& model, const LoadOptions& options) {
  if (on_gpu(options)) return {.any = 0.1, .each = 0.03};
  // Each token of a mixture of experts reads others.
  const bool experts = !model.meta(model.facts().architecture + ".expert_count").empty();
  return experts ? GuessCosts{.any = 0.3, .each = 0.4} : GuessCosts{.any = 0.25, .each = 0.15};
}

}  // namespace

bool InferenceEngine::Impl::may_guess() const {
  return options.speculative.max_tokens > 0 && model->facts().kind == ModelKind::generative && model->plain_attention();
}

Result<> InferenceEngine::Impl::load_draft() {
  if (!may_guess() || options.speculative.draft_path.empty()) return {};
  auto loaded = load_draft_model(options, *model);
  if (!loaded) return std::unexpected(loaded.error());
  draft_model = std::move(*loaded);
  return {};
}

Result<std::unique_ptr<Drafter>> InferenceEngine::Impl::make_drafter(std::uint32_t n_ctx) {
  if (!may_guess()) return nullptr;
  GuessCosts costs = guess_costs(*model, options);
  if (!draft_model) return std::make_unique<NgramDrafter>(costs);

  const LoadOptions draft = draft_options(options, n_ctx);
  KvMaker make = [this, draft](KvShape shape) -> Result<std::unique_ptr<KvMemory>> {
    return Context::make(draft_model, draft, go_on, shape);
  };
  auto memory = make({});
  if (!memory) return std::unexpected(memory.error());
  costs.each += static_cast<double>(draft_model->facts().model_bytes) / static_cast<double>(model->facts().model_bytes);
  const ModelDrafterOptions how{
      .sessions = draft.max_sequences, .least_probability = options.speculative.draft_probability, .costs = costs};
  return std::make_unique<ModelDrafter>(*draft_model, model->facts().n_vocab, std::move(*memory), std::move(make), how);
}

}  // namespace corral::engine
