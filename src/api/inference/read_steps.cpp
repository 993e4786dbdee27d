#include <utility>

#include "api/activity/activity_note.h"
#include "api/base/body_check.h"
#include "api/inference/steps.h"
#include "dialects/error_filter.h"
#include "dialects/form.h"
#include "json/byte_order_mark.h"
#include "protocol/ask.h"

namespace corral::api {
namespace {

async::Task<http::Response> with_body(InferenceContext& context, CallPtr call, Next next) {
  auto body = co_await call->request.body.read_all(context.bodies.max_bytes);
  if (!body) co_return dialects::error_response(body.error());
  call->body = json::without_byte_order_mark(std::move(*body));
  call->note->record_request(call->body);
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

// What a checked body asks for.
void settle(InferenceCall& call) {
  call.ask = call.canonical.ask.value_or(call.endpoint->ask);
  call.type = call.canonical.only_keeps ? std::nullopt : protocol::row_of(call.ask).type;
  call.note->wants(call.canonical.about.model);
}

async::Task<http::Response> parsed(InferenceContext& context, CallPtr call, Next next) {
  auto reading = read_body(context.bodies.threads, *call->endpoint, std::move(call->body));
  auto asked = co_await std::move(reading);
  if (!asked) co_return dialects::error_response(asked.error());
  call->canonical = std::move(*asked);
  settle(*call);
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

async::Task<http::Response> with_form(InferenceContext& context, CallPtr call, Next next) {
  auto reading = dialects::read_form(std::string(call->request.head.headers.get("Content-Type")),
                                     call->request.body.take_source(), *context.uploads);
  auto form = co_await std::move(reading);
  if (!form) co_return dialects::error_response(form.error());
  auto asked = call->endpoint->read_form(std::move(*form));
  if (!asked) co_return dialects::error_response(asked.error());
  call->canonical = std::move(*asked);
  call->ask = call->endpoint->ask;
  call->type = protocol::row_of(call->ask).type;
  call->note->wants(call->canonical.about.model);
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

}  // namespace

Filter read_body_step(InferenceContext& context) {
  return [&context](CallPtr call, Next next) { return with_body(context, std::move(call), next); };
}

Filter parse_body_step(InferenceContext& context) {
  return [&context](CallPtr call, Next next) {
    if (!call->is_parsed) return parsed(context, std::move(call), next);
    settle(*call);
    return next(std::move(call));
  };
}

Filter read_form_step(InferenceContext& context) {
  return [&context](CallPtr call, Next next) { return with_form(context, std::move(call), next); };
}

}  // namespace corral::api
