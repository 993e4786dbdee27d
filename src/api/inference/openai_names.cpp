#include "api/inference/openai_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "backends/speech/voices.h"
#include "base/shell_word.h"
#include "models/errors.h"
#include "residency/instance_state.h"

namespace corral::api {
namespace {

constexpr auto kNames = std::to_array<std::pair<std::string_view, ModelType>>({
    {"tts-1", ModelType::tts},
    {"tts-1-hd", ModelType::tts},
    {"gpt-4o-mini-tts", ModelType::tts},
    {"whisper-1", ModelType::transcription},
    {"gpt-4o-transcribe", ModelType::transcription},
    {"gpt-4o-mini-transcribe", ModelType::transcription},
    {"dall-e-2", ModelType::image},
    {"dall-e-3", ModelType::image},
    {"gpt-image-1", ModelType::image},
    {"gpt-image-1-mini", ModelType::image},
    {"gpt-image-1.5", ModelType::image},
    {"chatgpt-image-latest", ModelType::image},
});

Error none_here(const InferenceContext& context, std::string_view name, ModelType type) {
  const auto settings = context.core.settings != nullptr ? context.core.settings->in_force() : nullptr;
  std::string how;
  if (type == ModelType::tts) {
    how = settings != nullptr && !settings->espeak_model ? "set espeak_model to true, and run apt-get install espeak-ng"
                                                         : "run apt-get install espeak-ng";
  } else if (type == ModelType::image) {
    how = "docs/images.md describes how to get one";
  } else {
    const std::string folder =
        settings != nullptr && !settings->models_dir.empty() ? settings->models_dir.front().native() : "MODELS_DIR";
    how = fmt::format(
        "run curl -L --create-dirs -o {} https://huggingface.co/ggerganov/whisper.cpp/resolve/main/ggml-base.bin",
        shell_word(folder + "/ggml-base.bin"));
  }
  return {make_error_code(models::errc::model_not_found),
          fmt::format("'{}' means the best model of type {} on this server, and there is none: {}", name, name_of(type),
                      how),
          "model"};
}

bool is_better(const models::ModelInfo& one, const models::ModelInfo& other) {
  const auto rank = [](const models::ModelInfo& model) {
    return std::tuple(backends::speaks_by_espeak(model), ~model.size.value(), model.name.value());
  };
  return rank(one) < rank(other);
}

}  // namespace

std::optional<ModelType> type_of_openai_name(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name, &std::pair<std::string_view, ModelType>::first);
  return found != kNames.end() ? std::optional(found->second) : std::nullopt;
}

backends::ModelPtr best_model(const router::Report& report, const models::Catalog& catalog, ModelType type) {
  backends::ModelPtr best;
  const auto consider = [&](const backends::ModelPtr& model) {
    if (model->type == type && (best == nullptr || is_better(*model, *best))) best = model;
  };
  for (const auto& instance : report.instances) {
    const bool stays = instance.view.leaving == residency::StopReason::none;
    if (residency::is_resident(instance.view.state) && stays && !instance.view.lent) consider(instance.model);
  }
  if (best != nullptr) return best;
  for (const auto& model : catalog.models()) consider(model);
  return best;
}

async::Task<Result<backends::ModelPtr>> best_model_now(InferenceContext& context, std::string_view name,
                                                       ModelType type) {
  const std::string asked(name);
  const auto catalog = co_await context.files.models.catalog();
  const auto report = co_await context.core.router.report();
  if (auto best = best_model(report, *catalog, type)) co_return best;
  const auto fresh = co_await context.files.models.fresh_catalog();  // it may just have been installed
  if (auto best = best_model(report, *fresh, type)) co_return best;
  co_return std::unexpected(none_here(context, asked, type));
}

bool is_free_name(const InferenceContext& context, std::string_view name) {
  if (context.core.one_model || context.files.models.last()->contains(name)) return false;
  return context.files.elsewhere == nullptr || !context.files.elsewhere->find(name);
}

}  // namespace corral::api
