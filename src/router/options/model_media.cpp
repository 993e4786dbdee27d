#include "router/options/model_media.h"

#include <algorithm>
#include <string_view>

#include "backends/external/known_backends.h"

namespace corral::router {
namespace {

constexpr std::string_view kVision = "vision", kSound = "chat-transcription";

}  // namespace

Projector projector_in(const backends::LoadOptions& options) {
  if (options.mmproj == config::kNoProjector) return Projector::none;
  return config::named_projector(options).empty() ? Projector::own : Projector::named;
}

ModelMedia media_of(const models::ModelInfo& model, Projector projector) {
  if (model.type != ModelType::llm) return {};
  const bool beside = !model.mmproj.empty();
  ModelMedia media{.pictures = models::takes_pictures(model), .sounds = beside && model.traits.audio};
  if (model.recipe != backends::kEngineRecipe) {
    media.sure = false;  // the program may read more than its descriptor says
    if (model.declared.vision == false) media = {};
    return media;
  }
  if (projector == Projector::none) return {};
  if (projector == Projector::named) return {.pictures = true, .sounds = false, .sure = false};
  return media;
}

ModelMedia media_announced(const models::ModelInfo& model) {
  // A program that serves a model without a file announces no architecture.
  return {
      .pictures = model.traits.vision, .sounds = reads_sound(model.labels), .sure = !model.traits.architecture.empty()};
}

bool reads_sound(const std::vector<std::string>& labels) { return std::ranges::find(labels, kSound) != labels.end(); }

std::vector<std::string> labels_with(const models::ModelInfo& model, Projector projector) {
  auto labels = model.labels;
  if (projector == Projector::own || model.type != ModelType::llm || model.recipe != backends::kEngineRecipe)
    return labels;
  std::erase_if(labels, [](const std::string& label) { return label == kVision || label == kSound; });
  if (projector == Projector::named) labels.emplace_back(kVision);
  return labels;
}

}  // namespace corral::router
