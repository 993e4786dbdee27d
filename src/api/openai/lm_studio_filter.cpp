#include "api/openai/lm_studio_filter.h"

#include <utility>

#include "api/openai/lm_studio.h"

namespace corral::api {
namespace {

async::Task<http::Response> with_stats(backends::ModelPtr model, CallPtr call, Next next) {
  auto answering = next(std::move(call));
  auto answer = co_await std::move(answering);
  co_return lm_studio::with_stats(std::move(answer), *model);
}

}  // namespace

Filter lm_studio_filter() {
  return [](CallPtr call, Next next) {
    if (call->is_translated || !lm_studio::is_path(call->request.head.path())) return next(std::move(call));
    auto model = call->model();
    return with_stats(std::move(model), std::move(call), next);
  };
}

}  // namespace corral::api
