#include "api/admin/keep.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/access/rights.h"
#include "api/admin/unload.h"
#include "api/base/errors.h"
#include "dialects/error_filter.h"
#include "fleet/base/remote_models.h"
#include "residency/errors.h"
#include "router/base/request_table.h"

namespace corral::api {
namespace {

http::Response done(std::string_view reason) {
  return http::Response::json(
      200,
      fmt::format(R"({{"choices":[{{"index":0,"message":{{"role":"assistant","content":""}},"finish_reason":"{}"}}]}})",
                  reason));
}

async::Task<http::Response> unload_model(AdminContext& context, const http::Caller& caller, backends::ModelPtr model) {
  if (!has(caller, kAdmin)) {
    const Error error(
        make_error_code(errc::insufficient_scope),
        fmt::format("unloading '{}' needs a key with the scope admin: omit 'keep_alive', or use such a key",
                    model->name.value()),
        "keep_alive");
    co_return dialects::error_response(error);
  }
  auto unloading = unload_named(context, model->name.value());
  const auto unloaded = co_await std::move(unloading);
  // If the model isn't loaded, the client's goal is reached.
  if (!unloaded && unloaded.error().code != residency::errc::not_loaded)
    co_return dialects::error_response(unloaded.error());
  co_return done("unload");
}

async::Task<Result<bool>> load_model(AdminContext& context, backends::ModelPtr model, router::LeaseRequest wanted) {
  const auto lease = co_await context.core.router.acquire(std::move(model), std::move(wanted));
  if (!lease) co_return std::unexpected(lease.error());
  co_return true;
}

// The effective value; nothing for callers that may not decide: keys without admin rights, and models of other nodes.
std::optional<Millis> keep_of(const dialects::Canonical& asked, const http::Caller& caller,
                              const models::ModelInfo& model) {
  if (!asked.keep || !has(caller, kAdmin) || fleet::is_remote(model)) return std::nullopt;
  return asked.keep;
}

// Returns a canonical answer, whose finish_reason is "load" or "unload". Errors: those of a load; insufficient_scope
// for callers that may not unload.
async::Task<http::Response> keep_alone(AdminContext& context, CallPtr call) {
  const auto& request = call->request;
  const auto& asked = call->canonical;
  auto model = call->model();
  // Another node loads its model for the first request.
  if (fleet::is_remote(*model)) co_return done(asked.keep == Millis(0) ? "unload" : "load");
  if (asked.keep == Millis(0)) {
    auto unloading = unload_model(context, request.caller, std::move(model));
    co_return co_await std::move(unloading);
  }
  const auto keep = keep_of(asked, request.caller, *model);
  const auto name = model->name;
  const auto executor = co_await async::asio::this_coro::executor;
  router::RequestView about{.id = request.id,
                            .kind = router::RequestKind::load,
                            .model = name,
                            .path = "/v1/load",
                            .owner = router::OwnerId(request.caller.key)};
  const router::ActiveRequest active(context.core.forwarder.requests(), executor, std::move(about), model->type);
  const auto trained = model->traits.context_length;
  const auto tokens = trained > 0 ? std::min(asked.about.context, trained) : asked.about.context;
  router::LeaseRequest wanted{.context = {tokens, has(request.caller, kAdmin)}};
  auto loading = active.unless_stopped(load_model(context, std::move(model), std::move(wanted)));
  const auto loaded = co_await std::move(loading);
  if (!loaded) co_return dialects::error_response(loaded.error());
  if (keep) context.core.router.keep(name, *keep);
  co_return done("load");
}

}  // namespace

// If the requested time is short, the model must stay until it has answered.
Filter keep_filter(AdminContext& context) {
  return [&context](CallPtr call, Next next) {
    auto& asked = call->canonical;
    if (asked.only_keeps) {
      asked.begun = {};
      asked.names = nullptr;
    } else if (const auto keep = keep_of(asked, call->request.caller, *call->model())) {
      call->at_end = [&router = context.core.router, keep = *keep, name = call->model()->name] {
        router.keep(name, keep);
      };
    }
    return next(std::move(call));
  };
}

Filter keep_only_filter(AdminContext& context) {
  return [&context](CallPtr call, Next next) {
    return call->canonical.only_keeps ? keep_alone(context, std::move(call)) : next(std::move(call));
  };
}

}  // namespace corral::api
