#include <utility>

#include "api/filters/filters.h"
#include "dialects/error_filter.h"

namespace corral::api {
namespace {

async::Task<http::Response> with_voice(FilterContext& context, CallPtr call, Next next) {
  auto fitting = context.voices->fitted(std::move(call->canonical.body), *call->model());
  auto fitted = co_await std::move(fitting);
  if (!fitted) co_return dialects::error_response(fitted.error());
  call->canonical.body = std::move(*fitted);
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

}  // namespace

Filter voice_filter(FilterContext& context) {
  return [&context](CallPtr call, Next next) {
    if (call->ask != protocol::Ask::speech || context.voices == nullptr) return next(std::move(call));
    return with_voice(context, std::move(call), next);
  };
}

}  // namespace corral::api
