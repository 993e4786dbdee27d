// Paths without a prefix: llama-server's, and a sign that the server runs. Its inference endpoints are in
// dialects/llama_server.cpp.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "api/admin/children.h"
#include "api/base/core_routes.h"
#include "api/console/console.h"
#include "api/inference/model_of_request.h"
#include "api/openai/routes.h"
#include "dialects/error_filter.h"
#include "json/byte_order_mark.h"
#include "json/lone_surrogates.h"
#include "json/value.h"
#include "json/writer.h"
#include "protocol/errors.h"
#include "residency/errors.h"
#include "router/base/errors.h"

namespace corral::api {
namespace {

constexpr Millis kPropsPatience{5'000};
constexpr std::size_t kMaxShown = 32;
constexpr std::uint64_t kMaxAdapterBytes = 64 * 1024;

// A cache may not give the answer for one kind of client to another.
http::Response varied(http::Response response) {
  response.head.headers.set("Vary", "Accept, User-Agent");
  return response;
}

// Programs that accept JSON explicitly get JSON; people, and programs that accept anything, get a line of text. On the
// port for Ollama's clients it is the line that they expect. Browsers get the console, which asks for a key itself.
async::Task<http::Response> alive(const LlamaContext& context, http::Request request) {
  const auto host = request.head.headers.get("Host");
  if (context.core.about.ollama_port > 0 && host.ends_with(fmt::format(":{}", context.core.about.ollama_port)))
    co_return http::Response::text(200, "text/plain; charset=utf-8", "Ollama is running");
  if (auto page = console_at_root(context.core.about, request.head)) co_return std::move(*page);
  const auto accept = request.head.headers.get("Accept");
  if (accept.find("application/json") == std::string_view::npos || accept.find("text/html") != std::string_view::npos)
    co_return varied(http::Response::text(200, "text/plain; charset=utf-8", "corral is running\n"));
  const json::Object body{{"status", "ok"}, {"name", "corral"}, {"version", context.core.about.version}};
  co_return varied(http::Response::json(200, json::serialize(body)));
}

// Of a server with several models, in llama-server's form.
async::Task<http::Response> server_props(LlamaContext& context) {
  const auto report = co_await context.core.router.report();
  const auto max_instances = std::max(report.snapshot.limits[ModelType::llm], 0);  // 0: no limit
  std::string body;
  json::Writer out(body);
  out.begin_object().field("role", "router").field("max_instances", max_instances);
  out.field("models_autoload", context.inference.models_autoload)
      .field("model_alias", "corral")
      .field("model_path", "none");
  out.key("default_generation_settings").begin_object().key("params").null().field("n_ctx", 0).end_object();
  out.field("build_info", context.core.about.build_info).end_object();
  co_return http::Response::json(200, std::move(body));
}

// Of the given model, while it isn't in memory.
async::Task<http::Response> sleeping_props(LlamaContext& context, backends::ModelPtr model) {
  constexpr std::string_view kAwake = R"("is_sleeping":false)";
  auto last = context.kept_props.last();
  if (const auto at = last.find(kAwake); at != std::string::npos) {
    last.replace(at, kAwake.size(), R"("is_sleeping":true)");
    co_return http::Response::json(200, std::move(last));
  }
  const std::vector<backends::ModelPtr> one = {model};
  const auto windows = co_await context.core.router.contexts(one);
  std::string body;
  json::Writer out(body);
  out.begin_object().key("default_generation_settings").begin_object();
  out.field("n_ctx", windows.front().usable).end_object();
  const auto media = router::media_of(*model, windows.front().projector);
  out.field("model_path", model->checkpoint).field("model_alias", model->name.value());
  out.key("modalities").begin_object().field("vision", media.pictures).field("audio", media.sounds).end_object();
  out.field("build_info", context.core.about.build_info).field("is_sleeping", true).end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<Result<backends::ModelPtr>> asked_model(LlamaContext& context, const std::string& name) {
  if (!name.empty() && !context.core.one_model) co_return context.admin.files.models.find_known(name);
  co_return co_await model_of_request(context.inference, name, std::nullopt);
}

// An engine's properties, with the server's defaults of request fields among `params`, as llama-server has them.
std::string with_request_defaults(std::string props, const std::string& defaults) {
  if (defaults.empty()) return props;
  auto parsed = json::parse(props);
  const auto given = json::parse(defaults);
  if (!parsed || !given || !parsed->is_object() || !given->is_object()) return props;
  auto* settings = parsed->get_object().if_contains("default_generation_settings");
  auto* params = settings != nullptr && settings->is_object() ? settings->get_object().if_contains("params") : nullptr;
  if (params == nullptr || !params->is_object()) return props;
  auto& fields = params->get_object();
  for (const auto& [name, value] : given->get_object()) {
    if (auto* field = fields.if_contains(name)) *field = value;
    // The same limit has two names there.
    if (name != "n_predict") continue;
    if (auto* field = fields.if_contains("max_tokens")) *field = value;
  }
  return json::serialize(*parsed);
}

// The properties that the engine of a loaded model reports, as llama-server does.
async::Task<http::Response> props(LlamaContext& context, http::Request request) {
  const auto asked = http::query_value(request.head.query(), "model").value_or("");
  const auto model = co_await asked_model(context, asked);
  if (!model && asked.empty() && !context.core.one_model) co_return co_await server_props(context);
  if (!model && asked.empty()) co_return dialects::error_response(model.error());
  const auto name = model ? (*model)->name : ModelName(asked);
  const auto answer = co_await ask_child(context.core, name, "/props", kPropsPatience);
  if (!answer && model && context.core.one_model) co_return co_await sleeping_props(context, *model);
  if (!answer && asked.empty()) co_return co_await server_props(context);
  if (!answer) {
    const Error error(make_error_code(residency::errc::not_loaded), fmt::format("'{}' is not loaded", name.value()),
                      "model");
    co_return dialects::error_response(error);
  }
  if (!answer->text) {
    const Error error(make_error_code(router::errc::backend_unreachable),
                      fmt::format("the engine of '{}' does not respond", name.value()));
    co_return dialects::error_response(error);
  }
  if (!context.core.one_model) co_return http::Response::json(200, *answer->text);
  auto text = with_request_defaults(*answer->text, context.filters.request_defaults);
  context.kept_props.keep(text);
  co_return http::Response::json(200, std::move(text));
}

// Scales of the adapters of a loaded model for requests that set none.
async::Task<http::Response> adapters(LlamaContext& context, http::Request request) {
  const auto asked = http::query_value(request.head.query(), "model").value_or("");
  const auto model = co_await asked_model(context, asked);
  if (!model && asked.empty()) co_return dialects::error_response(model.error());
  const auto name = model ? (*model)->name : ModelName(asked);
  auto body = co_await request.body.read_all(kMaxAdapterBytes);
  if (!body) co_return dialects::error_response(body.error());
  *body = json::without_byte_order_mark(std::move(*body));
  json::replace_lone_surrogates(*body);
  http::RequestHead head{request.head.method, "/lora-adapters", {}};
  auto answer = co_await send_child(context.core, name, std::move(head), std::move(*body), kPropsPatience);
  co_return answer ? std::move(*answer) : dialects::error_response(answer.error());
}

// Save, restore and erase. Programs use these for what the engine does automatically here. Nothing stays in a slot, so
// erase always succeeds.
async::Task<http::Response> change_slot(http::Request request, http::PathParams params) {
  const auto action = http::query_value(request.head.query(), "action").value_or("");
  std::uint64_t id = 0;
  const std::string& given = params["id"];
  const auto [end, wrong] = std::from_chars(given.data(), given.data() + given.size(), id);
  if (wrong != std::errc() || end != given.data() + given.size()) {
    Error error(make_error_code(protocol::errc::bad_value),
                fmt::format("'id' must be the number of a slot, not \"{}\"", given.substr(0, kMaxShown)), "id");
    co_return dialects::error_response(error);
  }
  if (action == "erase") {
    const json::Object body{{"id_slot", id}, {"n_erased", 0}};
    co_return http::Response::json(200, json::serialize(body));
  }
  Error error(
      make_error_code(protocol::errc::unsupported_value),
      fmt::format(
          "'action' cannot be \"{}\": slots are not persistent. Cached prefixes are found automatically, in memory "
          "(park_mib) and with --park-on-disk also after a restart; 'cache_prompt': false excludes a request",
          action.substr(0, kMaxShown)),
      "action");
  co_return dialects::error_response(error);
}

// There are no properties to set; the same in llama-server.
async::Task<http::Response> set_props() { co_return http::Response::json(200, R"({"success":true})"); }

}  // namespace

void add_root(std::vector<http::Route>& routes, LlamaContext& context) {
  routes.push_back(
      {"GET", "/", [&context](http::Request request, http::PathParams) { return alive(context, std::move(request)); }});
  routes.push_back({"GET", "/props", [&context](http::Request request, http::PathParams) {
                      return props(context, std::move(request));
                    }});
  routes.push_back({"POST", "/props", [](http::Request, http::PathParams) { return set_props(); }});
  routes.push_back({"POST", "/slots/{id}", change_slot});
  add_core(routes, "POST", "slots/{id}", change_slot);
  for (const auto* method : {"GET", "POST"}) {
    routes.push_back({method, "/lora-adapters", [&context](http::Request request, http::PathParams) {
                        return adapters(context, std::move(request));
                      }});
  }
}

}  // namespace corral::api
