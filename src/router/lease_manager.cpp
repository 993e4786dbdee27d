#include "router/lease_manager.h"

#include <utility>

#include <fmt/format.h>

#include "residency/errors.h"
#include "router/base/errors.h"
#include "router/instances/plain_request.h"

namespace corral::router {

Lease LeaseManager::make_lease(residency::LeaseId id, residency::InstanceId instance) {
  auto running = parts_.processes.find(instance);
  if (!running) return {};
  return Lease(std::move(running), [this, id] { return_lease(id); });
}

void LeaseManager::return_lease(residency::LeaseId lease) {
  if (parts_.home.executor().running_in_this_thread()) {
    parts_.driver.return_lease(lease);
  } else {
    parts_.home.post([this, lease] { parts_.driver.return_lease(lease); });
  }
}

Lease LeaseManager::try_acquire(const ModelName& model, std::uint64_t context, residency::RequestOrigin origin) {
  if (!parts_.home.executor().running_in_this_thread()) return {};
  if (context > 0) {
    const RunningInstance* running = parts_.processes.resident(model);
    if (running == nullptr || running->context_window < context) return {};
  }
  const auto lease = parts_.driver.try_acquire(model, origin);
  return lease ? make_lease(lease->id, lease->instance) : Lease();
}

async::Task<Result<Lease>> LeaseManager::acquire(backends::ModelPtr model, LeaseRequest request) {
  if (request.requester.origin == residency::RequestOrigin::peer)
    co_return co_await acquire_for_peer(std::move(model), std::move(request));
  if (request.context.tokens > 0) {
    // Some external backends have an unknown context: they reject too large requests themselves.
    const auto resolved = parts_.options.resolve(*model, backends::LoadOptions());
    const bool known = !resolved || resolved->backend->knows_contexts() || parts_.contexts.max(model) > 0;
    if (known) co_return co_await acquire_with(std::move(model), std::move(request));
  }
  co_return co_await acquire_new(std::move(model), OptionPatch(), std::move(request.asked));
}

async::Task<bool> LeaseManager::may_evict(std::shared_ptr<const LoadSpec> spec) {
  const auto* known = parts_.driver.core().state().find(spec->name);
  if (known != nullptr && known->pending != nullptr) co_return false;
  const auto* loading = parts_.processes.loading();
  if (loading != nullptr && loading->spec->name == spec->name) co_return false;
  if (parts_.processes.resident(spec->name) != nullptr || parts_.processes.all().empty()) co_return false;
  const auto looked = std::make_shared<LoadSpec>(*spec);
  const auto there = co_await looked->backend->check_files(looked->model, looked->load_options);
  if (!there) co_return false;  // the load will report the error
  co_await parts_.memory.look_at(*looked);
  co_return parts_.driver.may_evict(looked);
}

async::Task<Result<Lease>> LeaseManager::acquire_new(backends::ModelPtr model, OptionPatch options,
                                                     std::shared_ptr<const AskedRequest> asked,
                                                     residency::RequestOrigin origin) {
  bool looked = false;
  for (bool again = false;;) {
    if (auto lease = try_acquire(model->name, 0, origin)) co_return lease;
    const auto spec = parts_.options.spec_of(model, options);
    if (!spec) co_return std::unexpected(spec.error());
    (*spec)->origin = origin;
    (*spec)->joins_only = held_.contains(model->name);
    const bool checked = asked && !(*spec)->joins_only && !is_plain(*asked, context_at_least(**spec));
    if (checked && co_await may_evict(*spec)) {
      auto checking = parts_.checks.check(*spec, std::exchange(asked, nullptr));
      const auto fine = co_await std::move(checking);
      if (!fine) co_return std::unexpected(fine.error());
      continue;  // the state may have changed meanwhile
    }
    residency::Acquire question{{}, *spec};
    auto asking = parts_.driver.ask(std::move(question));
    auto answer = co_await std::move(asking);
    if (const auto* error = std::get_if<Error>(&answer)) {
      // After a cooldown error: replaced files may be tried at once.
      const bool cooling = error->code == residency::errc::cooling_down && !looked;
      looked = true;
      if (!cooling) co_return std::unexpected(*error);
      const auto there = co_await (*spec)->backend->check_files(model, (*spec)->load_options);
      const auto files = (*spec)->backend->files_state(*model, (*spec)->load_options);
      if (!there || files == (*spec)->files) co_return std::unexpected(*error);
      continue;
    }
    const auto& granted = std::get<residency::Granted>(answer);
    if (auto lease = make_lease(granted.lease, granted.instance)) co_return lease;
    // The process died between the grant and now; it has done nothing for the request yet.
    return_lease(granted.lease);
    if (again) {
      co_return fail(errc::backend_died,
                     fmt::format("the backend of '{}' ended right after its load", model->name.value()));
    }
    again = true;
  }
}

// Peer requests never change the options of loads.
async::Task<Result<Lease>> LeaseManager::acquire_for_peer(backends::ModelPtr model, LeaseRequest request) {
  const auto tokens = request.context.tokens;
  const auto too_few = [&](std::uint64_t has) {
    return fail(
        residency::errc::not_here,
        fmt::format("'ctx_size' is {}, but '{}' has {} tokens of context here", tokens, model->name.value(), has),
        "ctx_size");
  };
  if (tokens > 0) {
    co_await parts_.contexts.refresh();
    const RunningInstance* running = parts_.processes.resident(model->name);
    const auto has = running != nullptr ? running->context_window : parts_.contexts.max(model);
    if (tokens > has) co_return too_few(has);
  }
  auto lease = co_await acquire_new(model, OptionPatch(), std::move(request.asked), residency::RequestOrigin::peer);
  if (lease && lease->context_window() < tokens) co_return too_few(lease->context_window());
  co_return lease;
}

namespace {

Error not_yours(const ModelName& model, std::uint64_t tokens, std::uint64_t max) {
  return {make_error_code(errc::context_not_yours),
          fmt::format("'ctx_size' is {}, but '{}' has {} tokens of context, and this key doesn't decide how models are "
                      "loaded: take that or less, or use a key with the scope admin, here or for a load with more",
                      tokens, model.value(), max),
          "ctx_size"};
}

}  // namespace

// If a request needs more context, the model is reloaded as by a load. If it needs less, it gets the existing context.
async::Task<Result<Lease>> LeaseManager::acquire_with(backends::ModelPtr model, LeaseRequest request) {
  const auto tokens = request.context.tokens;
  const auto trained = model->traits.context_length;
  if (trained != 0 && tokens > trained) {
    co_return fail(backends::errc::invalid_option,
                   fmt::format("'ctx_size' is {}, but '{}' was trained with {} tokens of context: take that or less",
                               tokens, model->name.value(), trained),
                   "ctx_size");
  }
  co_await parts_.contexts.refresh();
  constexpr int kAttempts = 3;  // other requests may reload it meanwhile
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto lease = try_acquire(model->name, tokens)) co_return lease;
    auto patch = parts_.contexts.patch_for(model, tokens);
    if (patch && !request.context.may_reload) {
      const auto max = parts_.contexts.max(model);
      if (tokens > max) co_return std::unexpected(not_yours(model->name, tokens, max));
    }
    const bool loaded = parts_.processes.resident(model->name) != nullptr;
    if (held_.contains(model->name)) patch.reset();  // its group's plan sets the context
    if (patch && loaded) {
      auto requested_before = parts_.processes.resident(model->name)->requested;
      auto loading = parts_.loads.load(model, std::move(*patch), std::nullopt, false);
      const auto reloaded = co_await std::move(loading);
      if (!reloaded) co_return std::unexpected(reloaded.error());
      parts_.loads.note_requested(model->name,
                                  requested_before);  // a request doesn't change the options of later loads
      continue;
    }
    auto lease = co_await acquire_new(model, patch ? std::move(*patch) : OptionPatch(), request.asked);
    if (!lease || lease->context_window() >= tokens) co_return lease;
  }
  const RunningInstance* running = parts_.processes.resident(model->name);
  co_return fail(backends::errc::invalid_option,
                 fmt::format("'ctx_size' is {}, but '{}' has a context of {} tokens here: take that or less", tokens,
                             model->name.value(), running == nullptr ? 0 : running->context_window),
                 "ctx_size");
}

}  // namespace corral::router
