#include "fleet/allotment/router_allot_actions.h"

#include <algorithm>
#include <exception>

#include "base/log.h"
#include "fleet/base/errors.h"
#include "residency/instance_state.h"
#include "router/base/failure.h"

namespace corral::fleet {

using async::Task;

void RouterAllotActions::load(ModelName model, std::function<void(Result<>)> done) {
  home_.post([this, model = std::move(model), done = std::move(done)]() mutable {
    if (!stopped_) tasks_.spawn("mesh: load", load_now(std::move(model), std::move(done)));
  });
}

void RouterAllotActions::unload(ModelName model, Millis idle, bool drain, std::function<void(bool)> done) {
  home_.post([this, model = std::move(model), idle, drain, done = std::move(done)]() mutable {
    if (!stopped_) tasks_.spawn("mesh: unload", unload_now(std::move(model), idle, drain, std::move(done)));
  });
}

Task<void> RouterAllotActions::stop() {
  stopped_ = true;
  tasks_.cancel();
  co_await tasks_.join();
}

// Reports every result, also exceptions: the caller orders nothing else before that.
Task<void> RouterAllotActions::load_now(ModelName model, std::function<void(Result<>)> done) {
  Result<> lent;
  std::exception_ptr failure;
  try {
    auto lending = lend(std::move(model));
    lent = co_await std::move(lending);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && stopped_) std::rethrow_exception(failure);
  if (failure) lent = fail(errc::nowhere, router::words_of(failure));
  async::asio::post(mesh_, [lent = std::move(lent), done = std::move(done)]() mutable { done(std::move(lent)); });
}

// Releases the lease at once: the model stays in memory like any lent one.
Task<Result<>> RouterAllotActions::lend(ModelName model) {
  const auto found = find_(model.value());
  if (!found) co_return std::unexpected(found.error());
  router::LeaseRequest request{.context = {.may_reload = false},
                               .requester = {.origin = residency::RequestOrigin::peer}};
  auto acquiring = peers_.acquire(*found, std::move(request));
  const auto lease = co_await std::move(acquiring);
  if (!lease) co_return std::unexpected(lease.error());
  co_return Result<>();
}

Task<void> RouterAllotActions::unload_now(ModelName model, Millis idle, bool drain, std::function<void(bool)> done) {
  bool gone = false;
  std::exception_ptr failure;
  try {
    auto giving = give_back(std::move(model), idle, drain);
    gone = co_await std::move(giving);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && stopped_) std::rethrow_exception(failure);
  if (failure) log::error("mesh", "can't unload a lent model: {}", router::words_of(failure));
  async::asio::post(mesh_, [gone, done = std::move(done)] { done(gone); });
}

// A request may come between the check and the unload; it is answered before the model ends.
Task<bool> RouterAllotActions::give_back(ModelName model, Millis idle, bool drain) {
  const auto report = co_await router_.report();
  const auto at = std::ranges::find_if(
      report.instances, [&](const router::InstanceReport& instance) { return instance.view.spec->name == model; });
  if (at == report.instances.end() || !at->view.lent || !residency::is_resident(at->view.state)) co_return false;
  const bool unused = at->view.leases == 0 && at->view.idle >= idle;
  if (!unused && !drain) co_return false;
  const auto unloaded = co_await router_.unload(std::move(model));
  co_return unloaded.has_value();
}

std::vector<LentModel> lent_models(const router::Report& report) {
  std::vector<LentModel> lent;
  for (const auto& instance : report.instances) {
    if (!instance.view.lent) continue;
    const bool ready = residency::is_resident(instance.view.state);
    lent.push_back({instance.view.spec->name, instance.view.leases > 0 ? Millis(0) : instance.view.idle, ready});
  }
  const auto& loading = report.snapshot.loading;
  if (loading && loading->lent) lent.push_back({loading->spec->name, Millis(0), false});
  return lent;
}

}  // namespace corral::fleet
