#include "api/admin/load_body.h"

#include "config/load/llama_args.h"

namespace corral::api {
namespace {

using protocol::Field;

protocol::Kinds kinds_of(const config::LoadOption& option) {
  using L = config::LoadOptions;
  struct Kinds {
    protocol::Kinds operator()(std::optional<std::int64_t> L::*) const { return protocol::kInteger; }
    protocol::Kinds operator()(std::optional<double> L::*) const { return protocol::kNumber; }
    protocol::Kinds operator()(std::optional<bool> L::*) const { return protocol::kBoolean; }
    protocol::Kinds operator()(std::optional<Millis> L::*) const { return protocol::kNumber; }
    protocol::Kinds operator()(std::optional<std::string> L::*) const { return protocol::kString; }
    protocol::Kinds operator()(std::optional<std::vector<std::string>> L::*) const { return protocol::kArray; }
  };
  return std::visit(Kinds(), option.field);
}

std::vector<Field> make_load_fields() {
  std::vector<Field> fields = {
      {.name = "model_name", .kinds = protocol::kString, .min_size = 1},
      {.name = "model", .kinds = protocol::kString, .min_size = 1},
      {.name = "pinned", .kinds = protocol::kBoolean},
      {.name = "save_options", .kinds = protocol::kBoolean},
      {.name = "stream", .kinds = protocol::kBoolean},
  };
  for (const auto& option : config::load_options()) {
    if (option.internal) continue;
    const auto kinds = kinds_of(option);
    fields.push_back({.name = option.key, .kinds = kinds, .min = option.min, .max = option.max});
    if (kinds == protocol::kArray) fields.back().elements = protocol::kString;
  }
  return fields;
}

}  // namespace

const protocol::FieldTable& load_fields() {
  static const auto fields = make_load_fields();
  static const protocol::FieldTable table(fields);
  return table;
}

Result<router::OptionPatch> option_patch_of(json::View body) {
  const auto object = json::parse(body.text());
  if (!object) return std::unexpected(object.error());
  router::OptionPatch wanted(config::read_load_options(*object));
  body.each_member([&](std::string_view name, json::View value) {
    const auto* option = config::find_load_option(name);
    if (option && !option->internal && value.is_null()) wanted.unset.push_back(option);
    return true;
  });
  if (!wanted.set.llamacpp_args) return wanted;
  const auto parsed = config::parse_llama_args(*wanted.set.llamacpp_args);
  if (!parsed) return std::unexpected(parsed.error());
  return wanted;
}

async::Task<Result<router::OptionPatch>> allowed_patch_of(const AccessContext& access, const http::Caller& caller,
                                                          json::View body) {
  auto wanted = option_patch_of(body);
  if (!wanted || access.gate == nullptr) co_return wanted;
  const auto allowed = co_await access.gate->check(caller, wanted->set);
  if (!allowed) co_return std::unexpected(allowed.error());
  co_return wanted;
}

}  // namespace corral::api
