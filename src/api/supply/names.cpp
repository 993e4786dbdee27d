// Names that users give to models: POST models/register, and /internal/aliases.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "api/base/errors.h"
#include "api/filters/request_defaults.h"
#include "api/supply/aliases.h"
#include "api/supply/routes.h"
#include "api/supply/supply.h"
#include "base/recipe_table.h"
#include "base/text.h"
#include "config/load/request_defaults.h"
#include "dialects/error_filter.h"
#include "models/names/model_names.h"
#include "models/text.h"
#include "protocol/errors.h"
#include "protocol/fields.h"

namespace corral::api {
namespace {

using protocol::Field;

constexpr std::size_t kMaxName = 512;
constexpr std::size_t kMaxAliases = 1000;
constexpr std::size_t kMaxDefaults = 8 * 1024;  // bytes of one alias: every list of models has them

constexpr Field kRegisterFields[] = {
    {.name = "model_name", .kinds = protocol::kString, .required = true, .min_size = 1, .max_bytes = kMaxName},
    {.name = "checkpoint", .kinds = protocol::kString, .min_size = 1, .max_bytes = 4096},
    {.name = "checkpoints", .kinds = protocol::kObject},
    {.name = "recipe", .kinds = protocol::kString},
    {.name = "labels", .kinds = protocol::kArray, .max_size = 32, .max_bytes = 64, .elements = protocol::kString},
    {.name = "source", .kinds = protocol::kString},
};
constexpr Field kAliasFields[] = {
    {.name = "alias", .kinds = protocol::kString, .required = true, .min_size = 1, .max_bytes = kMaxName},
    {.name = "target", .kinds = protocol::kString, .min_size = 1, .max_bytes = kMaxName},
    {.name = "model", .kinds = protocol::kString, .min_size = 1, .max_bytes = kMaxName},
    {.name = "defaults",
     .kinds = protocol::kObject,
     .about = "default values of request fields, and `system`: the system message of chats without one"},
};

std::string text_in(json::View body, std::string_view name) {
  const auto found = body.find(name);
  return std::string(found.found() && found.is_string() ? found.as_string() : std::string_view());
}

// Rejects a name that would differ when it is read back.
Result<> check_name(std::string_view name, std::string_view field) {
  const bool fine = !name.empty() && models::printable(name, kMaxName) == name && !name.ends_with(":latest") &&
                    !name.starts_with(' ') && !name.ends_with(' ');
  if (fine) return {};
  return fail(
      protocol::errc::unsupported_value,
      fmt::format("invalid model name '{}': use visible characters, without ':latest'", models::printable(name, 64)),
      std::string(field));
}

Result<models::UserModel> wanted_model(json::View body, const RecipeTable& recipes) {
  models::UserModel model{.name = std::string(models::without_prefix(text_in(body, "model_name"))),
                          .checkpoint = text_in(body, "checkpoint"),
                          .recipe = text_in(body, "recipe"),
                          .labels = {}};
  if (auto fine = check_name(model.name, "model_name"); !fine) return std::unexpected(fine.error());
  if (model.checkpoint.empty() && body.find("checkpoints").found())
    model.checkpoint = text_in(body.find("checkpoints"), "main");
  if (model.checkpoint.empty())
    return fail(protocol::errc::missing_field, "'checkpoint' is required: a file, or the name of a model",
                "checkpoint");
  if (model.recipe.empty()) model.recipe = "llamacpp";
  const Recipe* const recipe = recipes.find(model.recipe);
  if (recipe == nullptr)
    return fail(
        protocol::errc::unsupported_value,
        fmt::format("unknown recipe '{}'; known recipes: {}", models::printable(model.recipe, 64), recipes.names()),
        "recipe");
  body.find("labels").each_element([&](json::View label) { model.labels.emplace_back(label.as_string()); });
  for (const auto& label : model.labels) {
    const auto type = type_of_label(label);
    if (type && !serves(*recipe, *type))
      return fail(protocol::errc::unsupported_value,
                  fmt::format("recipe '{}' does not serve '{}'", model.recipe, label), "labels");
  }
  return model;
}

// Whether a model has this name from its files, not from the user's entry.
bool is_taken(SupplyContext& context, const std::string& name) {
  const auto known = context.files.models.find_known(name);
  if (!known || !equal_ignoring_case((*known)->name.value(), name)) return false;
  const auto user = context.supply->names.user_models(context.files.models.recipes());
  return std::ranges::find(user.models, name, &models::UserModel::name) == user.models.end();
}

std::unexpected<Error> taken(std::string_view name, std::string_view field) {
  return fail(errc::name_taken, fmt::format("a model named '{}' already exists: choose another name", name),
              std::string(field));
}

// Naming a file needs the right to name files; a model must be on this disk.
async::Task<Result<>> may_mean(SupplyContext& context, const http::Caller& caller, const models::UserModel& model) {
  if (model.recipe != "llamacpp") co_return Result<>();
  if (model.checkpoint.starts_with('/')) {
    if (context.access.gate == nullptr) co_return Result<>();
    co_return co_await context.access.gate->check_file(caller, "checkpoint", model.checkpoint);
  }
  auto there = co_await context.files.models.find(model.checkpoint);
  if (there) co_return Result<>();
  there.error().param = "checkpoint";
  co_return std::unexpected(std::move(there.error()));
}

async::Task<http::Response> enter(SupplyContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, register_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto model = wanted_model(peek->root(), context.files.models.recipes());
  if (!model) co_return dialects::error_response(model.error());
  const auto may = co_await may_mean(context, request.caller, *model);
  if (!may) co_return dialects::error_response(may.error());
  if (is_taken(context, model->name)) co_return dialects::error_response(taken(model->name, "model_name").error());
  if (const auto put = context.supply->names.put(*model); !put) co_return dialects::error_response(put.error());
  co_await context.files.models.rescan();
  const auto entered = context.files.models.find_known(model->name);
  if (!entered) co_return dialects::error_response(entered.error());
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success").field("model_name", model->name);
  out.field("canonical_model_name", fmt::format("user.{}", model->name)).key("model").begin_object();
  out.field("id", model->name).field("object", "model").field("checkpoint", (*entered)->checkpoint);
  out.field("recipe", (*entered)->recipe).field("type", name_of((*entered)->type));
  out.field("size_bytes", (*entered)->size.value()).key("labels").begin_array();
  for (const auto& label : (*entered)->labels) out.value(label);
  out.end_array().end_object().end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> list_aliases(SupplyContext& context) {
  std::string body;
  json::Writer out(body);
  out.begin_object().key("aliases").begin_array();
  for (const auto& [alias, meaning] : context.supply->names.aliases()) {
    const auto model = context.files.models.find_known(meaning.target);
    out.begin_object().field("alias", alias).field("target", meaning.target).field("downloaded", model.has_value());
    out.key("recipe");
    model ? out.value((*model)->recipe) : out.null();
    out.key("defaults").raw(meaning.defaults.empty() ? "{}" : meaning.defaults);
    out.end_object();
  }
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

async::Task<Result<>> put_alias(SupplyContext& context, std::string alias, std::string target, std::string defaults) {
  if (auto fine = check_name(alias, "alias"); !fine) co_return fine;
  if (defaults.size() > kMaxDefaults)
    co_return fail(protocol::errc::unsupported_value,
                   fmt::format("'defaults' has {} bytes: at most {} are allowed", defaults.size(), kMaxDefaults),
                   "defaults");
  if (auto fine = config::check_request_defaults(defaults, "defaults"); !fine) co_return fine;
  const auto known = context.files.models.find_known(alias);
  if (known && equal_ignoring_case((*known)->name.value(), alias)) co_return taken(alias, "alias");
  auto& names = context.supply->names;
  const auto all = names.aliases();
  if (all.size() >= kMaxAliases && !all.contains(alias)) {
    const auto text = fmt::format("there are already {} aliases: remove some", all.size());
    co_return fail(protocol::errc::unsupported_value, text, "alias");
  }
  // An alias of an alias refers to the model.
  const auto meant = context.files.models.find_known(target);
  const models::Alias meaning{meant ? (*meant)->name.value() : target, std::move(defaults)};
  const auto put = names.put_alias(alias, meaning);
  if (!put) co_return put;
  co_await context.files.models.rescan();
  co_return Result<>();
}

namespace {

async::Task<http::Response> add_alias(SupplyContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, alias_fields());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto alias = text_in(peek->root(), "alias");
  auto target = text_in(peek->root(), "target");
  if (target.empty()) target = text_in(peek->root(), "model");
  if (target.empty()) {
    const Error error(make_error_code(protocol::errc::missing_field), "'target' is required: the model of the alias",
                      "target");
    co_return dialects::error_response(error);
  }
  const auto wanted = peek->root().find("defaults");
  auto defaults = wanted.found() && !wanted.empty() ? wanted.text() : std::string();
  // An alias of a preset has its values, too.
  defaults = merged_defaults(std::move(defaults), context.files.models.defaults_of(target));
  const auto put = co_await put_alias(context, alias, target, std::move(defaults));
  if (!put) co_return dialects::error_response(put.error());
  const auto meant = context.files.models.find_known(target);
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "ok").field("alias", alias).field("target", target);
  if (!meant)
    out.field("warning", fmt::format("{}. The alias has no model until you download it", meant.error().message));
  out.end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> remove_alias(SupplyContext& context, std::string alias) {
  const auto removed = context.supply->names.remove_alias(alias);
  if (!removed) co_return dialects::error_response(removed.error());
  if (!*removed) {
    const auto text = fmt::format("unknown alias '{}'; see /internal/aliases", models::printable(alias, 64));
    const Error error(make_error_code(errc::alias_not_found), text, "alias");
    co_return dialects::error_response(error);
  }
  co_await context.files.models.rescan();
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "deleted").field("alias", alias).end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

const protocol::FieldTable& register_fields() {
  static const protocol::FieldTable table(kRegisterFields);
  return table;
}
const protocol::FieldTable& alias_fields() {
  static const protocol::FieldTable table(kAliasFields);
  return table;
}

void add_names(std::vector<http::Route>& routes, SupplyContext& context) {
  add_core(routes, "POST", "models/register",
           [&context](http::Request request, http::PathParams) { return enter(context, std::move(request)); });
  routes.push_back(
      {"GET", "/internal/aliases", [&context](http::Request, http::PathParams) { return list_aliases(context); }});
  routes.push_back({"POST", "/internal/aliases", [&context](http::Request request, http::PathParams) {
                      return add_alias(context, std::move(request));
                    }});
  routes.push_back({"DELETE", "/internal/aliases/{alias...}", [&context](http::Request, http::PathParams params) {
                      return remove_alias(context, std::move(params["alias"]));
                    }});
}

}  // namespace corral::api
