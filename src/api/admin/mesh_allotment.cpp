// The allocation: GET mesh/plan and mesh/plan/{model...}, POST mesh/assign and mesh/unload. All for admins. Another
// node executes an order only if its setting mesh_admin allows it.
#include <fmt/format.h>

#include "api/admin/allotment_json.h"
#include "api/admin/routes.h"
#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "dialects/error_filter.h"
#include "fleet/base/errors.h"
#include "fleet/base/not_found.h"
#include "fleet/node/member_runtime.h"
#include "json/writer.h"
#include "protocol/errors.h"
#include "protocol/fields.h"

namespace corral::api {
namespace {

using protocol::Field;

constexpr Field kAssignFields[] = {
    {.name = "node", .kinds = protocol::kString, .required = true, .min_size = 1},
    {.name = "model", .kinds = protocol::kString, .min_size = 1},
    {.name = "nothing", .kinds = protocol::kBoolean},
    {.name = "auto", .kinds = protocol::kBoolean},
};
constexpr Field kUnloadFields[] = {
    {.name = "model", .kinds = protocol::kString, .required = true, .min_size = 1},
};

template <const auto& kFields>
const protocol::FieldTable& table() {
  static const protocol::FieldTable instance(kFields);
  return instance;
}

http::Response answer(std::string body) { return http::Response::json(200, std::move(body)); }

async::Task<http::Response> plan(fleet::Node& node) {
  const auto view = node.view();
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", fleet::name_of(view->phase)).field("known", view->allotment != nullptr);
  write_plan(out, *view);
  out.end_object();
  co_return answer(std::move(body));
}

async::Task<http::Response> plan_of(AdminContext& context, std::string model) {
  const auto view = context.core.node->view();
  if (!view->catalog || !view->in_mesh()) {
    const Error error(make_error_code(fleet::errc::no_mesh), "this node is in no mesh");
    co_return dialects::error_response(error);
  }
  const auto found = view->catalog->find(model);
  if (found.model == nullptr) {
    const auto error = fleet::why_not_found(*view->catalog, model, found, context.core.timers.now());
    co_return dialects::error_response(error);
  }
  std::string body;
  json::Writer out(body);
  out.begin_object().field("model", found.model->name).field("status", mesh::name_of(found.model->status));
  out.field("size_bytes", found.model->bytes);
  write_plan_of(out, *view, *found.model);
  out.end_object();
  co_return answer(std::move(body));
}

bool flag(json::View body, std::string_view name) {
  const auto found = body.find(name);
  return found.found() && !found.is_null() && found.as_bool();
}

// The body has one of three members.
Result<fleet::AllotCommand> patch_of(json::View body) {
  const auto model = body.find("model");
  const bool named = model.found() && !model.is_null(), nothing = flag(body, "nothing"), any = flag(body, "auto");
  if (named + nothing + any != 1) {
    return fail(protocol::errc::missing_field,
                "give one of these: 'model', the name of a model; \"nothing\": true, for no model of the mesh; "
                "\"auto\": true, for the model of the plan",
                "model");
  }
  return named ? fleet::AllotCommand::assign : nothing ? fleet::AllotCommand::nothing : fleet::AllotCommand::release;
}

async::Task<http::Response> assign(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, table<kAssignFields>());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto body = peek->root();
  const auto wanted = patch_of(body);
  if (!wanted) co_return dialects::error_response(wanted.error());
  std::string node(body.find("node").as_string());
  std::string model;
  if (*wanted == fleet::AllotCommand::assign) model = body.find("model").as_string();
  auto assigning = context.core.node->ask(&fleet::MemberRuntime::assign, node, *wanted, model);
  const auto assigned = co_await std::move(assigning);
  if (!assigned) co_return dialects::error_response(assigned.error());
  std::string text;
  json::Writer out(text);
  out.begin_object().field("status", "success").field("node", node).key("model");
  model.empty() ? out.null() : out.value(model);
  out.field("auto", *wanted == fleet::AllotCommand::release).key("waits_for");
  assigned->empty() ? out.null() : out.value(*assigned);
  out.end_object();
  co_return answer(std::move(text));
}

// The answer lists nodes that refuse; it is an error only if all of them do.
async::Task<http::Response> unload(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, table<kUnloadFields>());
  if (!peek) co_return dialects::error_response(peek.error());
  std::string model(peek->root().find("model").as_string());
  auto unloading = context.core.node->ask(&fleet::MemberRuntime::unload, model);
  const auto done = co_await std::move(unloading);
  if (!done) co_return dialects::error_response(done.error());
  if (done->accepted.empty() && !done->refused.empty()) co_return dialects::error_response(done->refused.front());
  std::string text;
  json::Writer out(text);
  out.begin_object().field("status", "success").field("model", model).key("nodes").begin_array();
  for (const auto& node : done->accepted) out.value(node);
  out.end_array().key("refused").begin_array();
  for (const auto& error : done->refused) out.value(error.message);
  out.end_array().end_object();
  co_return answer(std::move(text));
}

}  // namespace

void add_mesh_allotment(std::vector<http::Route>& routes, AdminContext& context) {
  const auto add = [&](const char* method, std::string_view path, auto handle) {
    add_core(routes, method, path, [&context, handle](http::Request request, http::PathParams params) {
      return handle(context, std::move(request), std::move(params));
    });
  };
  using Request = http::Request;
  using Params = http::PathParams;
  add("GET", "mesh/plan", [](AdminContext& with, Request, Params) { return plan(*with.core.node); });
  add("GET", "mesh/plan/{model...}",
      [](AdminContext& with, Request, Params params) { return plan_of(with, std::move(params["model"])); });
  add("POST", "mesh/assign",
      [](AdminContext& with, Request request, Params) { return assign(with, std::move(request)); });
  add("POST", "mesh/unload",
      [](AdminContext& with, Request request, Params) { return unload(with, std::move(request)); });
}

}  // namespace corral::api
