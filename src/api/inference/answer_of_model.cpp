#include "api/inference/answer_of_model.h"

#include "dialects/error_filter.h"

namespace corral::api {

async::Task<http::Response> answer_of_model(ApiContext& context, router::ForwardRequest request) {
  auto forwarding = context.forwarder.forward(std::move(request));
  auto answer = co_await std::move(forwarding);
  co_return answer ? std::move(*answer) : dialects::error_response(answer.error());
}

}  // namespace corral::api
