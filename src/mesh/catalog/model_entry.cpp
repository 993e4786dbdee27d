#include "mesh/catalog/model_entry.h"

namespace corral::mesh {
namespace {

std::string_view cut(std::string_view text) { return text.substr(0, kNodeStateLimits.text); }

void take_model_field(const Field& field, ModelOnDisk& model) {
  switch (field.tag) {
    case 1:
      if (field.is_name(kNodeStateLimits.name)) model.name = std::string(field.bytes);
      break;
    case 2:
      if (field.is_name(kNodeStateLimits.name) && model.aliases.size() < kNodeStateLimits.aliases)
        model.aliases.emplace_back(field.bytes);
      break;
    case 3:
      model.type = parse_model_type(field.bytes).value_or(ModelType::llm);
      break;
    case 4:
      model.recipe = field.text(kNodeStateLimits.text);
      break;
    case 5:
      model.checkpoint = field.text(kNodeStateLimits.text);
      break;
    case 6:
      if (model.labels.size() < kNodeStateLimits.labels) model.labels.push_back(field.text(kNodeStateLimits.text));
      break;
    case 7:
      model.architecture = field.text(kNodeStateLimits.text);
      break;
    case 8:
      model.quantisation = field.text(kNodeStateLimits.text);
      break;
    case 9:
      model.parameters = field.number(kNodeStateLimits.number);
      break;
    case 10:
      model.bytes = field.number(kNodeStateLimits.number);
      break;
    case 11:
      if (field.bytes.size() == sizeof(Sha256)) model.hash = ByteReader(field.bytes).fixed<32>();
      break;
    case 12:
      model.created = field.number(kNodeStateLimits.number);
      break;
    case 13:
      model.context_trained = field.number(kNodeStateLimits.number);
      break;
    case 14:
      model.context_usable = field.number(kNodeStateLimits.number);
      break;
    case 15:
      model.predicted = field.number(kNodeStateLimits.number);
      break;
    case 16:
      model.device = static_cast<Device>(field.number(255) & 7);
      break;
    case 17:
      model.tokens_per_second = field.decimal();
      break;
    case 18:
      model.tools = field.flag();
      break;
    case 19:
      model.thinking = field.flag();
      break;
    case 20:
      model.vision = field.flag();
      break;
    case 21:
      model.may_copy = field.flag();
      break;
    case 22:
      model.layers = static_cast<std::uint32_t>(field.number(kNodeStateLimits.layers));
      break;
    case 23:
      model.layer_bytes = field.number(kNodeStateLimits.number);
      break;
    case 24:
      model.cache_bytes = field.number(kNodeStateLimits.number);
      break;
    case 25:
      model.ends_bytes = field.number(kNodeStateLimits.number);
      break;
    case 26:
      model.compute_bytes = field.number(kNodeStateLimits.number);
      break;
    case 27:
      model.split_context = field.number(kNodeStateLimits.number);
      break;
    case 28:
      model.max_context = field.number(kNodeStateLimits.number);
      break;
    default:
      break;
  }
}

}  // namespace

FieldWriter fields_of(const ModelOnDisk& model) {
  FieldWriter out;
  out.text(1, model.name);
  for (const auto& alias : model.aliases) out.text(2, alias);
  out.text(3, name_of(model.type)).text(4, cut(model.recipe)).text(5, cut(model.checkpoint));
  for (const auto& label : model.labels) out.text(6, cut(label));
  out.text(7, cut(model.architecture)).text(8, cut(model.quantisation)).number(9, model.parameters);
  out.number(10, model.bytes);
  if (model.hash) out.raw(11, as_text(*model.hash));
  out.number(12, model.created).number(13, model.context_trained).number(14, model.context_usable);
  out.number(15, model.predicted).number(16, static_cast<std::uint64_t>(model.device));
  out.decimal(17, model.tokens_per_second).number(18, model.tools).number(19, model.thinking);
  out.number(20, model.vision).number(21, model.may_copy).number(22, model.layers).number(23, model.layer_bytes);
  out.number(24, model.cache_bytes).number(25, model.ends_bytes).number(26, model.compute_bytes);
  return out.number(27, model.split_context).number(28, model.max_context);
}

ModelOnDisk read_model(std::string_view bytes) {
  ModelOnDisk model;
  each_field(bytes, [&](const Field& field) { take_model_field(field, model); });
  return model;
}

}  // namespace corral::mesh
