#include <algorithm>
#include <utility>

#include "api/activity/activity_note.h"
#include "api/inference/model_of_request.h"
#include "api/inference/steps.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

async::Task<http::Response> with_model(InferenceContext& context, CallPtr call, Next next) {
  auto finding = model_of_request(context, call->canonical.about.model, call->type);
  call->found = co_await std::move(finding);
  if (call->found && call->type && call->model()->type != *call->type) {
    const models::ModelInfo& info = *call->model();
    auto wrong = protocol::wrong_model_type(info.name.value(), info.type, shown_path(*call->endpoint), *call->type);
    call->found = std::unexpected(std::move(wrong));
  }
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

// The requested context, at most what the model supports.
std::uint64_t context_of(const dialects::Canonical& asked, const models::ModelInfo& model) {
  const auto trained = model.traits.context_length;
  return asked.modest_context && trained > 0 ? std::min(asked.about.context, trained) : asked.about.context;
}

}  // namespace

Filter find_model_step(InferenceContext& context) {
  return [&context](CallPtr call, Next next) { return with_model(context, std::move(call), next); };
}

Filter known_model_step(InferenceContext& context) {
  return [&context](CallPtr call, Next next) {
    if (!call->found) return refused(std::move(call->found.error()));
    const models::ModelInfo& info = *call->model();
    call->note->wants(info.name.value());
    if (!call->is_form()) {
      auto& asked = call->canonical;
      if (asked.about.model.empty()) asked.about.model = info.name.value();
      asked.id = call->request.id.value();
      asked.received = context.core.timers.wall_now();
      call->context = context_of(asked, info);
    }
    return next(std::move(call));
  };
}

}  // namespace corral::api
