#include "api/load_body.h"

#include <fmt/format.h>

#include "config/close_keys.h"
#include "config/llama_args.h"
#include "protocol/errors.h"

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
      {.name = "llamacpp_args", .kinds = protocol::kString},
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

async::Task<Result<json::Peek>> checked_body(Context& context, http::Request& request,
                                             const protocol::FieldTable& fields, bool may_be_empty) {
  auto body = co_await request.body.read_all(context.max_body_bytes);
  if (!body) co_return std::unexpected(body.error());
  if (may_be_empty && body->empty()) *body = "{}";
  auto peek = json::Peek::open(*body);
  if (!peek) co_return std::unexpected(peek.error());
  const auto fine = protocol::check(peek->root(), fields);
  if (!fine) co_return std::unexpected(fine.error());
  co_return std::move(*peek);
}

Error no_option(std::string_view name, std::string_view meant) {
  const auto hint = meant.empty() ? std::string() : fmt::format("; did you mean '{}'?", meant);
  return {make_error_code(protocol::errc::unsupported_value), fmt::format("there is no option '{}'{}", name, hint),
          std::string(name)};
}

Result<> check_spelling(json::View body) {
  static const auto known = [] {
    std::vector<std::string_view> names;
    for (const Field& field : load_fields().fields()) names.push_back(field.name);
    return names;
  }();
  Result<> fine;
  body.each_member([&](std::string_view name, json::View) {
    if (load_fields().find(name) != nullptr) return true;
    const auto meant = config::misspelt(name, known);
    if (meant.empty()) return true;
    fine = std::unexpected(no_option(name, meant));
    return false;
  });
  return fine;
}

Result<router::OptionWish> option_wish_of(json::View body) {
  const auto object = json::parse(body.text());
  if (!object) return std::unexpected(object.error());
  router::OptionWish wish(config::read_load_options(*object));
  body.each_member([&](std::string_view name, json::View value) {
    const auto* option = config::find_load_option(name);
    if (option && !option->internal && value.is_null()) wish.unset.push_back(option);
    return true;
  });
  const auto* args = json::find(*object, "llamacpp_args");
  if (!args || args->is_null()) return wish;
  const auto from_args = config::parse_llama_args(json::text_or(*object, "llamacpp_args", ""));
  if (!from_args) return std::unexpected(from_args.error());
  wish.set = config::merge(wish.set, *from_args);
  return wish;
}

}  // namespace corral::api
