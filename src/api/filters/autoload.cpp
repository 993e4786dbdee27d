#include "api/filters/autoload.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/filters/filters.h"
#include "dialects/error_filter.h"
#include "fleet/base/remote_models.h"
#include "http/route_table.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

bool unloads(const dialects::Canonical& asked) { return asked.only_keeps && asked.keep == Millis(0); }

async::Task<http::Response> if_in_memory(InferenceContext& context, CallPtr call, Next next) {
  auto checking = check_in_memory(context, call->model());
  const auto there = co_await std::move(checking);
  if (!there) co_return dialects::error_response(there.error());
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

}  // namespace

bool may_load(const InferenceContext& context, const http::Request& request) {
  const auto autoload = http::query_value(request.head.query(), "autoload");
  if (!autoload) return context.models_autoload || context.core.one_model;
  return autoload == "true" || autoload == "1";
}

async::Task<Result<>> check_in_memory(InferenceContext& context, backends::ModelPtr model) {
  const auto report = co_await context.core.router.report();
  const auto named = [&](const router::InstanceReport& instance) { return instance.view.spec->name == model->name; };
  if (fleet::is_remote(*model) || std::ranges::any_of(report.instances, named)) co_return Result<>();
  co_return fail(protocol::errc::bad_value,
                 fmt::format("'{}' is not in memory, and this request does not load models (autoload=false, or the "
                             "setting models_autoload is off): load it first with POST /v1/load",
                             model->name.value()),
                 "model");
}

Filter autoload_filter(InferenceContext& context) {
  return [&context](CallPtr call, Next next) {
    if (!call->found || unloads(call->canonical) || may_load(context, call->request)) return next(std::move(call));
    return if_in_memory(context, std::move(call), next);
  };
}

}  // namespace corral::api
