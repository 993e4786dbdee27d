#include "api/openai/mesh_models.h"

#include "api/admin/mesh_json.h"
#include "api/openai/lm_studio.h"
#include "router/options/model_media.h"

namespace corral::api {
namespace {

// Status values that clients of a single server know.
std::string_view local_word(mesh::ModelStatus status) {
  switch (status) {
    case mesh::ModelStatus::ready:
      return "loaded";
    case mesh::ModelStatus::loading:
      return "loading";
    default:
      return "unloaded";
  }
}

}  // namespace

MeshModels::MeshModels(fleet::MeshViewPtr view) : view_(std::move(view)) {
  if (!view_ || !view_->catalog) {
    view_ = nullptr;
    return;
  }
  for (const auto& model : view_->catalog->models()) {
    if (!model.is_here()) far_.push_back(&model);
    for (const auto& copy : model.copies)
      if (copy.node->reach == mesh::Reach::own) own_.emplace(ModelName(copy.model->name), &model);
  }
}

const mesh::MeshModel* MeshModels::own(const ModelName& name) const {
  const auto found = own_.find(name);
  return found == own_.end() ? nullptr : found->second;
}

const mesh::MeshModel* MeshModels::find_far(std::string_view name) const {
  if (!view_) return nullptr;
  const auto* model = view_->catalog->find(name).model;
  return model != nullptr && !model->is_here() ? model : nullptr;
}

void write_mesh_status(json::Writer& out, const mesh::MeshModel& model) {
  out.field("mesh", mesh::name_of(model.status));
}

void write_far_model(json::Writer& out, const fleet::MeshView& view, const mesh::MeshModel& model, EntryShape shape) {
  static const mesh::ModelOnDisk kUnknown;
  const auto& facts = model.facts != nullptr ? *model.facts : kUnknown;
  const std::string_view checkpoint = facts.checkpoint.empty() ? model.source : facts.checkpoint;
  const bool lm_studio = shape == EntryShape::lm_studio;
  out.begin_object();
  out.field("id", model.name).field("object", "model").field("created", facts.created).field("owned_by", "corral");
  out.field("checkpoint", checkpoint).field("recipe", facts.recipe);
  out.field("type",
            lm_studio ? lm_studio::type_word(model.type, facts.vision) : std::string_view(corral::name_of(model.type)));
  out.field("downloaded", !model.copies.empty());
  out.field("size", static_cast<double>(model.bytes) / 1e9).field("size_bytes", model.bytes);
  out.field("context_length", facts.context_usable).field("max_context_length", facts.context_trained);
  out.field("max_context_window", facts.context_usable);
  out.field("architecture", facts.architecture).field("quantization", facts.quantisation);
  if (facts.parameters > 0) out.field("parameters", facts.parameters);
  out.key("labels").begin_array();
  for (const auto& label : facts.labels) out.value(label);
  out.end_array();
  if (lm_studio) {
    lm_studio::write_members(out, {.tools = facts.tools,
                                   .checkpoint = checkpoint,
                                   .architecture = facts.architecture,
                                   .status = local_word(model.status),
                                   .context = facts.context_usable});
  } else {
    out.key("capabilities").begin_object().field("chat", model.type == ModelType::llm).field("tools", facts.tools);
    const bool audio = router::reads_sound(facts.labels);
    out.field("reasoning", facts.thinking).field("vision", facts.vision).field("audio", audio);
    out.field("multimodal", facts.vision || audio).end_object();
  }
  out.key("status").begin_object().field("value", local_word(model.status));
  write_mesh_status(out, model);
  out.end_object();
  write_copies(out, view, model);
  out.key("recipe_options").begin_object().end_object();
  out.end_object();
}

}  // namespace corral::api
