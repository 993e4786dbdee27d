// Requests of Ollama's clients to its registry: pull, push, copy (another name), create (another name with defaults of
// request fields), delete, blobs. Unsupported ones get an error that names the alternative.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "api/base/command_body.h"
#include "api/files/find_model.h"
#include "api/filters/request_defaults.h"
#include "api/ollama/facts.h"
#include "api/ollama/pull.h"
#include "api/ollama/routes.h"
#include "api/supply/aliases.h"
#include "api/supply/removal.h"
#include "dialects/error_filter.h"
#include "dialects/ollama/canonical.h"
#include "dialects/ollama/fields.h"
#include "json/writer.h"
#include "models/errors.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

constexpr protocol::Field kFields[] = {
    {.name = "model", .kinds = protocol::kString, .min_size = 1},
    {.name = "name", .kinds = protocol::kString, .min_size = 1},
    {.name = "source", .kinds = protocol::kString, .min_size = 1},
    {.name = "destination", .kinds = protocol::kString, .min_size = 1},
    {.name = "stream", .kinds = protocol::kBoolean},
    {.name = "from", .kinds = protocol::kString, .min_size = 1},
    {.name = "system", .kinds = protocol::kString},
    {.name = "parameters", .kinds = protocol::kObject, .inside = dialects::ollama::check_options},
};

async::Task<Result<json::Peek>> body_of(SupplyContext& context, http::Request& request) {
  static const protocol::FieldTable fields(kFields);
  co_return co_await checked_body(context.bodies, request, fields);
}

Result<std::string> required(json::View body, std::string_view name, std::string_view also = {}) {
  auto text = body.find(name).as_string();
  if (text.empty() && !also.empty()) text = body.find(also).as_string();
  if (!text.empty()) return std::string(text);
  return fail(protocol::errc::missing_field, fmt::format("'{}' is required: the name of a model", name),
              std::string(name));
}

http::Response refused(std::string_view what, std::string_view way_out) {
  const Error error(make_error_code(protocol::errc::unsupported_value), fmt::format("{}: {}", what, way_out), "model");
  return dialects::error_response(error);
}

// Ollama's clients append it to names without a tag.
std::string without_latest(std::string name) {
  constexpr std::string_view kLatest = ":latest";
  if (name.ends_with(kLatest)) name.resize(name.size() - kLatest.size());
  return name;
}

http::Response status(bool streams, std::string_view word) {
  auto body = fmt::format(R"({{"status":"{}"}})", word);
  if (!streams) return http::Response::json(200, std::move(body));
  return http::Response::text(200, "application/x-ndjson", body + "\n");
}

// A local model needs no pull, unless the hub may have a newer version.
async::Task<http::Response> pull(SupplyContext& context, http::Request request) {
  const auto peek = co_await body_of(context, request);
  if (!peek) co_return dialects::error_response(peek.error());
  const auto name = required(peek->root(), "model", "name");
  if (!name) co_return dialects::error_response(name.error());
  const auto stream = peek->root().find("stream");
  const bool streams = stream.is_null() || stream.as_bool();
  const auto model = co_await find_model(context.files, *name);
  if (model) co_return status(streams, "success");
  if (context.supply != nullptr && model.error().code == models::errc::model_not_found) {
    auto pulling = ollama::pull(context, *name, streams);
    co_return co_await std::move(pulling);
  }
  co_return dialects::error_response(model.error());
}

async::Task<http::Response> copy(SupplyContext& context, http::Request request) {
  const auto peek = co_await body_of(context, request);
  if (!peek) co_return dialects::error_response(peek.error());
  const auto from = required(peek->root(), "source");
  if (!from) co_return dialects::error_response(from.error());
  const auto to = required(peek->root(), "destination");
  if (!to) co_return dialects::error_response(to.error());
  const auto model = co_await find_own_model(context.files, *from);
  if (!model) co_return dialects::error_response(model.error());
  if (without_latest(*to) == (*model)->name.value()) co_return http::Response::json(200, "");
  if (context.supply == nullptr)
    co_return refused("creating names is not supported here", "create a hard link of that name beside its file");
  auto defaults = context.files.models.defaults_of(*from);
  const auto put = co_await put_alias(context, without_latest(*to), (*model)->name.value(), std::move(defaults));
  if (!put) co_return dialects::error_response(put.error());
  co_return http::Response::json(200, "");
}

async::Task<http::Response> remove(SupplyContext& context, http::Request request) {
  const auto peek = co_await body_of(context, request);
  if (!peek) co_return dialects::error_response(peek.error());
  const auto name = required(peek->root(), "model", "name");
  if (!name) co_return dialects::error_response(name.error());
  const auto model = co_await find_model(context.files, *name);
  if (!model) co_return dialects::error_response(model.error());
  if (context.supply == nullptr) co_return refused("deleting models is not supported here", "delete the file");
  const auto removed = co_await remove_model(context, {.name = without_latest(*name)});
  if (!removed) co_return dialects::error_response(removed.error());
  co_return http::Response::json(200, "");
}

// Parts of a Modelfile that make another model, not another preset of one.
std::string_view unsupported_part(json::View body) {
  constexpr std::string_view kParts[] = {"files", "adapters", "template", "messages", "quantize", "modelfile"};
  const auto given = [body](std::string_view name) {
    const auto value = body.find(name);
    return !value.is_null() && !((value.is_object() || value.is_array()) && value.empty());
  };
  const auto found = std::ranges::find_if(kParts, given);
  return found == std::end(kParts) ? std::string_view() : *found;
}

// Ollama's parameters and system text as default values of request fields; empty: none.
std::string defaults_in(json::View body) {
  std::string defaults;
  json::Writer out(defaults);
  out.begin_object();
  dialects::ollama::write_options(out, body.find("parameters"));
  if (const auto system = body.find("system"); !system.as_string().empty()) out.field("system", system.as_string());
  out.end_object();
  return defaults == "{}" ? std::string() : defaults;
}

// A name for a model with a system text and parameters: an alias with defaults. The values of a preset that it is made
// from stay, unless the body sets them.
async::Task<http::Response> create(SupplyContext& context, http::Request request) {
  const auto peek = co_await body_of(context, request);
  if (!peek) co_return dialects::error_response(peek.error());
  const auto body = peek->root();
  const auto name = required(body, "model", "name");
  if (!name) co_return dialects::error_response(name.error());
  const auto from = required(body, "from");
  if (!from) co_return dialects::error_response(from.error());
  if (const auto part = unsupported_part(body); !part.empty())
    co_return refused(
        fmt::format("'{}' is not supported here", part),
        "use from, system and parameters; add a GGUF file to a folder of models_dir, and set options with "
        "corral load --save-options");
  const auto model = co_await find_own_model(context.files, *from);
  if (!model) co_return dialects::error_response(model.error());
  if (context.supply == nullptr)
    co_return refused("creating names is not supported here", "create a hard link of that name beside its file");
  auto defaults = merged_defaults(defaults_in(body), context.files.models.defaults_of(*from));
  const auto put = co_await put_alias(context, without_latest(*name), (*model)->name.value(), std::move(defaults));
  if (!put) co_return dialects::error_response(put.error());
  const auto stream = body.find("stream");
  co_return status(stream.is_null() || stream.as_bool(), "success");
}

async::Task<http::Response> no_blobs() {
  co_return refused("creating models is not supported here",
                    "add a GGUF file to a folder of models_dir, and set options with corral load --save-options");
}
async::Task<http::Response> no_push() {
  co_return refused("pushing models to a registry is not supported", "upload the file yourself");
}

// "sha256:..." or "sha256-..." of a file with a known hash.
async::Task<http::Response> blob(SupplyContext& context, std::string digest) {
  const auto catalog = co_await context.files.models.catalog();
  for (const auto& model : catalog->models()) {
    const auto facts = ollama::facts_of(*model, context.files.hashes);
    if (facts.of_bytes && digest.size() == 71 && digest.starts_with("sha256") && digest.ends_with(facts.digest))
      co_return http::Response::text(200, "application/octet-stream", "");
  }
  const Error error(make_error_code(models::errc::model_not_found), fmt::format("there is no file '{}'", digest),
                    "digest");
  co_return dialects::error_response(error);
}

template <auto Answer>
http::RouteHandler with_request(SupplyContext& context) {
  return [&context](http::Request request, http::PathParams) { return Answer(context, std::move(request)); };
}

}  // namespace

void add_ollama_registry(std::vector<http::Route>& routes, SupplyContext& context) {
  routes.push_back({"POST", "/api/pull", with_request<pull>(context)});
  routes.push_back({"POST", "/api/copy", with_request<copy>(context)});
  routes.push_back({"DELETE", "/api/delete", with_request<remove>(context)});
  routes.push_back({"POST", "/api/create", with_request<create>(context)});
  routes.push_back({"POST", "/api/push", [](http::Request, http::PathParams) { return no_push(); }});
  routes.push_back({"GET", "/api/blobs/{digest}", [&context](http::Request, http::PathParams params) {
                      return blob(context, std::move(params["digest"]));
                    }});
  routes.push_back({"POST", "/api/blobs/{digest}", [](http::Request, http::PathParams) { return no_blobs(); }});
}

}  // namespace corral::api
