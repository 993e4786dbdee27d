#include "api/supply/filters.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/supply/auto_pull.h"
#include "api/supply/known_names.h"
#include "dialects/error_filter.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

// Of a request that downloads its model.
struct ToDownload {
  std::string name;
};

Error wrong_type(const InferenceCall& call, std::string_view name, ModelType type) {
  return protocol::wrong_model_type(name, type, shown_path(*call.endpoint), *call.type);
}

async::Task<http::Response> forwarded(CallPtr call, Next next, backends::ModelPtr model) {
  if (call->type && model->type != *call->type)
    co_return dialects::error_response(wrong_type(*call, model->name.value(), model->type));
  call->found = std::move(model);
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

// A stream gets pings during the download, and a later failure is one framed error event. A known model of another type
// than the endpoint's is not downloaded.
async::Task<http::Response> after_download(SupplyContext& context, std::string name, CallPtr call, Next next) {
  const auto known = known_type(context, name);
  if (call->type && known && *known != *call->type) co_return dialects::error_response(wrong_type(*call, name, *known));
  const auto ping =
      call->streams() ? std::optional(call->canonical.about.ping_interval.value_or(kUsualPing)) : std::nullopt;
  WhenHere then = [call = std::move(call), next](backends::ModelPtr model) mutable {
    return forwarded(std::move(call), next, std::move(model));
  };
  auto answering = answer_when_here(context, std::move(name), ping, std::move(then));
  co_return co_await std::move(answering);
}

}  // namespace

Filter missing_model_filter(SupplyContext& context) {
  return [&context](CallPtr call, Next next) {
    if (call->found || call->canonical.only_keeps) return next(std::move(call));
    const auto& name = call->canonical.about.model;
    if (fetches(context, call->request.caller, name, call->found.error())) {
      call->attached.set(std::make_shared<ToDownload>(name));
      call->found = coming_model(name, call->type.value_or(ModelType::llm));
    }
    return next(std::move(call));
  };
}

Filter download_filter(SupplyContext& context) {
  return [&context](CallPtr call, Next next) {
    const auto wanted = call->attached.get<ToDownload>();
    if (wanted == nullptr) return next(std::move(call));
    return after_download(context, wanted->name, std::move(call), next);
  };
}

}  // namespace corral::api
