#include <string>
#include <utility>

#include "api/base/body_check.h"
#include "api/filters/filters.h"
#include "api/filters/request_defaults.h"

namespace corral::api {
namespace {

// Large bodies off the loop.
async::Task<std::string> completed(const BodyContext& bodies, std::string body, std::string defaults,
                                   protocol::Ask ask) {
  if (defaults.empty()) co_return body;
  if (body.size() <= kSmallBody || bodies.threads == nullptr) co_return with_defaults(std::move(body), defaults, ask);
  auto work = [body = std::move(body), defaults = std::move(defaults), ask]() mutable {
    return with_defaults(std::move(body), defaults, ask);
  };
  co_return co_await bodies.threads->run(std::move(work));
}

async::Task<http::Response> with_all(FilterContext& context, std::string of_alias, CallPtr call, Next next) {
  auto& body = call->canonical.body;
  auto first = completed(context.inference.bodies, std::move(body), std::move(of_alias), call->ask);
  body = co_await std::move(first);
  auto second = completed(context.inference.bodies, std::move(body), context.request_defaults, call->ask);
  body = co_await std::move(second);
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

}  // namespace

Filter default_filter(FilterContext& context) {
  return [&context](CallPtr call, Next next) {
    auto of_alias = context.inference.files.models.defaults_of(call->canonical.about.model);
    if (of_alias.empty() && context.request_defaults.empty()) return next(std::move(call));
    return with_all(context, std::move(of_alias), std::move(call), next);
  };
}

}  // namespace corral::api
