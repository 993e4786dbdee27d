#include <algorithm>
#include <utility>

#include "api/activity/activity_note.h"
#include "api/inference/model_of_request.h"
#include "api/inference/openai_names.h"
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

// One of OpenAI's names: the answer names the model that it means.
async::Task<http::Response> with_best_model(InferenceContext& context, ModelType type, CallPtr call, Next next) {
  // For the first scan of the disk.
  co_await context.files.models.catalog();
  if (!is_free_name(context, call->canonical.about.model)) {
    auto answering = with_model(context, std::move(call), next);
    co_return co_await std::move(answering);
  }
  auto finding = best_model_now(context, call->canonical.about.model, type);
  call->found = co_await std::move(finding);
  const auto name = call->found ? call->model()->name.value() : std::string();
  auto answering = next(std::move(call));
  auto answer = co_await std::move(answering);
  if (!name.empty()) answer.head.headers.set("X-Corral-Model", name);
  co_return answer;
}

// The requested context, at most what the model supports.
std::uint64_t context_of(const dialects::Canonical& asked, const models::ModelInfo& model) {
  const auto trained = model.traits.context_length;
  return asked.modest_context && trained > 0 ? std::min(asked.about.context, trained) : asked.about.context;
}

}  // namespace

Filter find_model_step(InferenceContext& context) {
  return [&context](CallPtr call, Next next) {
    const auto type = type_of_openai_name(call->canonical.about.model);
    if (type && call->type == *type) return with_best_model(context, *type, std::move(call), next);
    return with_model(context, std::move(call), next);
  };
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
