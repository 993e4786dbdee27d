// Inference endpoints: read the body in its dialect, find the model, hand the request to the forwarder, tell the answer
// in the dialect. Nothing here depends on which dialect or endpoint it is.
#include <optional>

#include "api/body_check.h"
#include "api/find_model.h"
#include "api/loaded_model.h"
#include "api/rights.h"
#include "api/routes.h"
#include "dialects/error_teller.h"
#include "dialects/form.h"
#include "dialects/told.h"
#include "fleet/conversation.h"

namespace corral::api {
namespace {

using dialects::Endpoint;

// For messages: the path as it stands in the documentation.
std::string_view shown_path(const Endpoint& endpoint) {
  return endpoint.path.starts_with('/') ? endpoint.path.substr(1) : endpoint.path;
}

// So that the turns of a conversation go to one node. Of this machine's own models nobody asks.
std::uint64_t conversation_of(const models::ModelInfo& model, std::string_view body, std::string_view client) {
  return fleet::far_model(model) == nullptr ? 0 : fleet::conversation_of(body, client);
}

async::Task<Result<backends::ModelPtr>> model_for(Context& context, const Endpoint& endpoint, std::string name) {
  const auto type = protocol::row_of(endpoint.ask).type;
  auto finding = name.empty() ? only_loaded_now(context, type) : find_model(context, std::move(name));
  auto model = co_await std::move(finding);
  if (!model || !type || (*model)->type == *type) co_return model;
  const models::ModelInfo& info = **model;
  co_return std::unexpected(protocol::wrong_model_type(info.name.value(), info.type, shown_path(endpoint), *type));
}

async::Task<http::Response> infer(Context& context, const Endpoint& endpoint, http::Request request) {
  auto body = co_await request.body.read_all(context.max_body_bytes);
  if (!body) co_return dialects::error_response(body.error());
  auto asked = co_await read_body(context.body_threads, endpoint, std::move(*body));
  if (!asked) co_return dialects::error_response(asked.error());
  auto model = co_await model_for(context, endpoint, asked->about.model);
  if (!model) co_return dialects::error_response(model.error());
  auto teller = endpoint.tell != nullptr ? endpoint.tell(*asked) : nullptr;
  const auto& about = asked->about;
  router::ForwardRequest forward{.model = std::move(*model),
                                 .ask = endpoint.ask,
                                 .body = std::move(asked->body),
                                 .stream = about.stream && endpoint.streams,
                                 .id = request.id,
                                 .ping_interval = about.ping_interval,
                                 .context = {about.context, has(request.caller, kAdmin)},
                                 .owner = std::move(request.caller.key),
                                 .peer = std::move(request.peer)};
  const auto& client = forward.owner.empty() ? forward.peer : forward.owner;
  forward.context.conversation = conversation_of(*forward.model, forward.body, client);
  auto answer = co_await context.forwarder.forward(std::move(forward));
  co_return dialects::told(std::move(answer), std::move(teller));
}

// A form goes on as it comes; of all that it says, the model alone is looked at.
async::Task<http::Response> infer_form(Context& context, const Endpoint& endpoint, http::Request request) {
  std::string type(request.head.headers.get("Content-Type"));
  auto source = request.body.take_source();
  auto form = co_await dialects::find_in_form(type, std::move(source), "model", context.max_body_bytes);
  if (!form) co_return dialects::error_response(form.error());
  auto model = co_await model_for(context, endpoint, std::move(form->value));
  if (!model) co_return dialects::error_response(model.error());
  router::ForwardRequest forward{.model = std::move(*model),
                                 .ask = endpoint.ask,
                                 .id = request.id,
                                 .owner = std::move(request.caller.key),
                                 .peer = std::move(request.peer),
                                 .content_type = std::move(type),
                                 .upload = std::move(form->body)};
  co_return co_await context.forwarder.forward(std::move(forward));
}

}  // namespace

void add_inference(std::vector<http::Route>& routes, Context& context) {
  for (const auto* dialect : context.dialects) {
    for (const auto& endpoint : dialect->endpoints) {
      auto call = [&context, &endpoint](http::Request request, http::PathParams) {
        return endpoint.form ? infer_form(context, endpoint, std::move(request))
                             : infer(context, endpoint, std::move(request));
      };
      if (endpoint.path.starts_with('/')) {
        routes.push_back({"POST", std::string(endpoint.path), std::move(call)});
      } else {
        add_core(routes, "POST", endpoint.path, std::move(call));
      }
    }
  }
}

}  // namespace corral::api
