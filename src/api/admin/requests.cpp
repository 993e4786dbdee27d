// Running requests, inference and loads: GET requests, POST requests/{id}/cancel.
#include <fmt/format.h>

#include "api/access/rights.h"
#include "api/activity/activity_board.h"
#include "api/admin/routes.h"
#include "api/base/core_routes.h"
#include "api/base/errors.h"
#include "dialects/error_filter.h"
#include "json/writer.h"

namespace corral::api {
namespace {

// Only admins see requests of others.
bool may_see(const http::Caller& caller, const router::RequestView& request) {
  return has(caller, kAdmin) || request.owner.value() == caller.key;
}

// The owner of the request, and the progress of its answer.
void write_seen(json::Writer& out, const router::RequestView& request, const ActivityBoard& board) {
  const auto& key = request.owner.value();
  if (!key.empty()) out.field("key", key);
  if (request.kind != router::RequestKind::inference) return;
  const auto seen = board.find(request.id.value(), key);
  if (!seen) return;
  out.field("dialect", seen->dialect).field("client", seen->client);
  if (request.stream) out.field("output_tokens", seen->pieces);
  if (seen->first_token_ms) out.field("first_token_ms", *seen->first_token_ms);
}

async::Task<http::Response> list(CoreContext& context, std::shared_ptr<ActivityBoard> board, http::Caller caller) {
  std::string body;
  json::Writer out(body);
  out.begin_object().key("requests").begin_array();
  for (const auto& request : context.forwarder.requests().list()) {
    if (!may_see(caller, request)) continue;
    bool running = request.running;
    if (request.kind == router::RequestKind::load) {
      const auto progress = co_await context.router.progress(request.model);
      running = progress.has_value();
    }
    out.begin_object().field("id", request.id.value()).field("kind", name_of(request.kind));
    out.field("model", request.model.value()).field("path", request.path).field("stream", request.stream);
    out.field("status", running ? "running" : "queued");
    if (const auto& node = request.node.value(); !node.empty()) out.field("node", node);
    out.field("since", epoch_millis(context.timers.wall_now()) - request.age.count());
    out.field("age_ms", request.age.count()).field("waited_ms", request.waited.count());
    write_seen(out, request, *board);
    out.end_object();
  }
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

// To a caller without admin rights, requests of others don't exist.
async::Task<http::Response> cancel(CoreContext& context, http::Caller caller, std::string id) {
  const auto owner = has(caller, kAdmin) ? std::nullopt : std::optional(router::OwnerId(caller.key));
  const auto found = context.forwarder.requests().cancel(RequestId(id), owner);
  if (found == 0) {
    const Error error(make_error_code(errc::request_not_found), fmt::format("no running request has the ID '{}'", id),
                      "id");
    co_return dialects::error_response(error);
  }
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", "success").field("id", id).field("cancelled", found).end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_requests(std::vector<http::Route>& routes, CoreContext& context, std::shared_ptr<ActivityBoard> board) {
  add_core(routes, "GET", "requests", [&context, board = std::move(board)](http::Request request, http::PathParams) {
    return list(context, board, std::move(request.caller));
  });
  add_core(routes, "POST", "requests/{id}/cancel", [&context](http::Request request, http::PathParams params) {
    return cancel(context, std::move(request.caller), std::move(params["id"]));
  });
}

}  // namespace corral::api
