#include "backends/load_order.h"

#include <string_view>
#include <utility>

namespace corral::backends {

void unset_usual(LoadOptions& options) {
  if (options.lora && options.lora->empty()) options.lora.reset();
  if (options.devices && options.devices->empty()) options.devices.reset();
  for (const std::string_view usual : {"", "auto", "layer"})
    if (options.split_mode == usual) options.split_mode.reset();
  if (options.tensor_split == "") options.tensor_split.reset();
  if (options.main_gpu == 0) options.main_gpu.reset();
  if (options.draft_model == "") options.draft_model.reset();
  if (options.mmproj == "" || options.mmproj == "auto") options.mmproj.reset();
  if (options.mmproj_offload == true) options.mmproj_offload.reset();
  if (options.flash_attention == "auto" || options.flash_attention == "") options.flash_attention.reset();
  for (auto* type : {&options.cache_type_k, &options.cache_type_v})
    if (*type == "f16") type->reset();
}

std::filesystem::path projector_of(const models::ModelInfo& model, const LoadOptions& options) {
  if (model.type != ModelType::llm || options.mmproj == config::kNoProjector) return {};
  const auto named = config::named_projector(options);
  return named.empty() ? model.mmproj : std::filesystem::path(named);
}

std::vector<std::filesystem::path> own_files_of(const models::ModelInfo& model, const LoadOptions& options) {
  auto files = model.paths;
  const bool own = config::named_projector(options).empty();
  if (auto projector = projector_of(model, options); own && !projector.empty()) files.push_back(std::move(projector));
  return files;
}

std::vector<std::filesystem::path> files_of(const models::ModelInfo& model, const LoadOptions& options) {
  auto files = model.paths;
  for (const auto& adapter : options.lora.value_or(std::vector<std::string>()))
    files.push_back(parse_lora(adapter).path);
  if (options.draft_model) files.emplace_back(*options.draft_model);
  if (auto projector = projector_of(model, options); !projector.empty()) files.push_back(std::move(projector));
  return files;
}

EngineLoad load_order(const models::ModelInfo& model, LoadOptions options) {
  EngineLoad load{model.name.value(), model.paths.front().string(), model.type, {}};
  load.mmproj = projector_of(model, options).string();
  load.mmproj_offload = options.mmproj_offload.value_or(true);
  options.mmproj.reset();
  options.mmproj_offload.reset();
  load.options = std::move(options);
  return load;
}

}  // namespace corral::backends
