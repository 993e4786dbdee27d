#include "api/admin/load_body.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/base/body_check.h"
#include "config/load/llama_args.h"
#include "config/options/close_keys.h"
#include "json/byte_order_mark.h"
#include "json/lone_surrogates.h"
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

async::Task<Result<json::Peek>> checked_body(ApiContext& context, http::Request& request,
                                             const protocol::FieldTable& fields, bool may_be_empty) {
  auto body = co_await request.body.read_all(std::min<std::uint64_t>(context.max_body_bytes, kSmallBody));
  if (!body) co_return std::unexpected(body.error());
  *body = json::without_byte_order_mark(std::move(*body));
  json::replace_lone_surrogates(*body);
  if (may_be_empty && body->empty()) *body = "{}";
  auto peek = json::Peek::open(std::move(*body));
  if (!peek) co_return std::unexpected(peek.error());
  const auto fine = protocol::check(peek->root(), fields);
  if (!fine) co_return std::unexpected(fine.error());
  co_return std::move(*peek);
}

namespace {

constexpr std::size_t kShownName = 64;  // bytes of an unknown name in messages

}  // namespace

Result<> check_members(json::View body, const protocol::FieldTable& fields) {
  Result<> fine;
  body.each_member([&](std::string_view name, json::View) {
    if (fields.find(name) != nullptr) return true;
    std::vector<std::string_view> known;
    for (const Field& field : fields.fields()) known.push_back(field.name);
    const auto shown = name.substr(0, kShownName);
    const auto hint = config::did_you_mean(config::closest_of(shown, known));
    fine =
        fail(protocol::errc::unsupported_value, fmt::format("unknown option '{}'{}", shown, hint), std::string(shown));
    return false;
  });
  return fine;
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
  const auto said = config::parse_llama_args(*wanted.set.llamacpp_args);
  if (!said) return std::unexpected(said.error());
  return wanted;
}

async::Task<Result<router::OptionPatch>> allowed_patch_of(ApiContext& context, const http::Caller& caller,
                                                          json::View body) {
  auto wanted = option_patch_of(body);
  if (!wanted || context.files == nullptr) co_return wanted;
  const auto allowed = co_await context.files->check(caller, wanted->set);
  if (!allowed) co_return std::unexpected(allowed.error());
  co_return wanted;
}

}  // namespace corral::api
