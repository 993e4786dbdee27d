// llama-swap's own paths: /running, /unload, /api/models/unload, /logs, and /upstream/MODEL/PATH, which passes a
// request unchanged to the program of a model, after a load if need be.
#include <algorithm>

#include <fmt/format.h>

#include "api/access/rights.h"
#include "api/admin/unload.h"
#include "api/filters/autoload.h"
#include "api/llama/routes.h"
#include "base/log.h"
#include "dialects/error_filter.h"
#include "json/writer.h"
#include "protocol/client_tag.h"
#include "residency/instance_state.h"
#include "router/forward/passed_body.h"

namespace corral::api {
namespace {

constexpr std::size_t kLogBytes = 10'240;
constexpr std::string_view kOwnRecipe = "llamacpp";
constexpr std::string_view kUpstream = "/upstream/";
// Of the name of a model in such a path, as it is sent. Longer ones belong to no model.
constexpr std::size_t kLongestName = 1024;
constexpr int kMaxSlashes = 16;
constexpr const char* kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

http::Response text_answer(std::string text) {
  return http::Response::text(200, "text/plain; charset=utf-8", std::move(text));
}

// ---- /running

void write_running(json::Writer& out, const router::InstanceReport& instance) {
  const auto& view = instance.view;
  const auto& declared = instance.model->declared;
  const bool ready = residency::is_resident(view.state) && view.leaving == residency::StopReason::none;
  std::string command;
  for (const auto& word : instance.facts.launch_command) command += (command.empty() ? "" : " ") + word;
  const auto idle = view.eviction.auto_evict ? std::max(view.eviction.evict_idle_timeout, Millis(0)) : Millis(0);
  out.begin_object().field("model", view.spec->name.value()).field("state", ready ? "ready" : "stopping");
  out.field("cmd", command).field("proxy", instance.facts.backend_url);
  out.field("ttl", idle.count() / 1000);
  out.field("name", declared.title).field("description", declared.description).end_object();
}

async::Task<http::Response> running(LlamaContext& context) {
  const auto report = co_await context.core.router.report();
  std::string body;
  json::Writer out(body);
  out.begin_object().key("running").begin_array();
  for (const auto& instance : report.instances) write_running(out, instance);
  if (const auto& loading = report.snapshot.loading)
    out.begin_object().field("model", loading->spec->name.value()).field("state", "starting").end_object();
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

// ---- unload, logs

async::Task<http::Response> unload_every(LlamaContext& context, bool as_text) {
  auto unloading = unload_all(context.core);
  const auto unloaded = co_await std::move(unloading);
  if (!unloaded) co_return dialects::error_response(unloaded.error());
  co_return as_text ? text_answer("OK") : http::Response::json(200, R"({"msg":"ok"})");
}

// HEAD comes to the handlers of GET, and changes nothing.
async::Task<http::Response> not_unloaded() { co_return text_answer("OK"); }

async::Task<http::Response> unload_one(LlamaContext& context, std::string name) {
  auto unloading = unload_named(context.admin, std::move(name));
  const auto unloaded = co_await std::move(unloading);
  if (!unloaded) co_return dialects::error_response(unloaded.error());
  co_return text_answer("OK");
}

async::Task<http::Response> logs() {
  std::string text;
  for (const auto& line : log::recent()) text += line;
  if (text.size() > kLogBytes) text.erase(0, text.find('\n', text.size() - kLogBytes) + 1);
  co_return text_answer(std::move(text));
}

// ---- /upstream

struct Upstream {
  backends::ModelPtr model;
  std::string path;  // of the program
};

// The longest beginning of the path that is the name of a model. Names may have slashes.
Result<Upstream> upstream_of(const models::Catalog& catalog, std::string_view path) {
  path.remove_prefix(std::min(path.size(), kUpstream.size()));
  auto end = std::min(path.find('/'), path.size());
  std::size_t at = 0;
  for (int slashes = 0; slashes <= kMaxSlashes && at <= path.size(); ++slashes, ++at) {
    at = std::min(path.find('/', at), path.size());
    if (at > kLongestName) break;
    if (catalog.contains(http::percent_decode(path.substr(0, at)))) end = at;
  }
  const auto model = catalog.find(http::percent_decode(path.substr(0, std::min(end, kLongestName))));
  if (!model) return std::unexpected(model.error());
  return Upstream{*model, end == path.size() ? "/" : std::string(path.substr(end))};
}

// The caller needs the right of the same path of corral's own API if that is open or for inference, and otherwise that
// of admins: a program doesn't know callers, and answers all of them alike. Corral's own engine is for admins: requests
// that don't take the usual way to it have no limits for their caller.
std::uint32_t right_for(const backends::ModelPtr& model, std::string_view method, std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto* const row = find_rights(method, path);
  const bool open = row != nullptr && (row->needs == 0 || row->needs == kInference);
  return open && model->recipe != kOwnRecipe ? row->needs : static_cast<std::uint32_t>(kAdmin);
}

// Coroutine parameters are values: the caller may be cancelled.
async::Task<Result<http::Response>> exchange(LlamaContext& context, backends::ModelPtr model, http::RequestHead head,
                                             std::string body, std::shared_ptr<router::ActiveRequest> active) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto lease = co_await context.core.router.acquire(std::move(model), {});
  if (!lease) co_return std::unexpected(lease.error());
  auto answer = co_await lease->target(executor).send(head, body);
  if (!answer) co_return std::unexpected(answer.error());
  co_return router::passed_on(std::move(*answer), std::move(*lease), std::move(active));
}

async::Task<http::Response> upstream(LlamaContext& context, http::Request request) {
  const auto catalog = co_await context.admin.files.models.catalog();
  // Not path(), which has no slash at its end.
  const std::string_view target = request.head.target;
  const auto found = upstream_of(*catalog, target.substr(0, target.find('?')));
  if (!found) co_return dialects::error_response(found.error());
  const auto needs = right_for(found->model, request.head.method, found->path);
  if (needs != 0 && (request.caller.rights & needs) == 0) {
    request.caller.missing = needs;
    co_return refuse_caller(request);
  }
  if (!may_load(context.inference, request)) {
    const auto there = co_await check_in_memory(context.inference, found->model);
    if (!there) co_return dialects::error_response(there.error());
  }
  auto reading = request.body.read_all(context.admin.bodies.max_bytes);
  auto body = co_await std::move(reading);
  if (!body) co_return dialects::error_response(body.error());
  const auto query = request.head.query();
  http::RequestHead head{
      request.head.method, query.empty() ? found->path : fmt::format("{}?{}", found->path, query), {}};
  for (const std::string_view name : {"Content-Type", "Accept"})
    if (request.head.headers.has(name)) head.headers.add(name, request.head.headers.get(name));
  head.headers.add("X-Request-Id", request.id.value());
  head.headers.add(protocol::kUnchanged, "1");
  const auto executor = co_await async::asio::this_coro::executor;
  router::RequestView about{.id = request.id,
                            .kind = router::RequestKind::inference,
                            .model = found->model->name,
                            .path = std::string(request.head.path()),
                            .owner = router::OwnerId(request.caller.key)};
  const auto active = std::make_shared<router::ActiveRequest>(context.core.forwarder.requests(), executor,
                                                              std::move(about), found->model->type);
  auto exchanging = active->unless_stopped(exchange(context, found->model, std::move(head), std::move(*body), active));
  auto answer = co_await std::move(exchanging);
  if (answer && answer->body.streaming()) co_return std::move(*answer);
  active->end(answer && answer->head.status < 400 ? router::Outcome::ok : router::Outcome::failed);
  if (!answer) co_return dialects::error_response(answer.error());
  co_return std::move(*answer);
}

}  // namespace

void add_llama_swap(std::vector<http::Route>& routes, LlamaContext& context) {
  routes.push_back({"GET", "/running", [&context](http::Request, http::PathParams) { return running(context); }});
  routes.push_back({"GET", "/logs", [](http::Request, http::PathParams) { return logs(); }});
  for (const char* method : {"GET", "POST"}) {
    routes.push_back({method, "/unload", [&context](http::Request request, http::PathParams) {
                        return request.head.method == "HEAD" ? not_unloaded() : unload_every(context, true);
                      }});
  }
  routes.push_back({"POST", "/api/models/unload",
                    [&context](http::Request, http::PathParams) { return unload_every(context, false); }});
  routes.push_back({"POST", "/api/models/unload/{model...}", [&context](http::Request, http::PathParams params) {
                      return unload_one(context, std::move(params["model"]));
                    }});
  for (const char* method : kMethods) {
    routes.push_back({method, "/upstream/{path...}", [&context](http::Request request, http::PathParams) {
                        return upstream(context, std::move(request));
                      }});
  }
}

}  // namespace corral::api
