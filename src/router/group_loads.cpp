#include "router/group_loads.h"

#include <utility>

#include <fmt/format.h>

#include "residency/errors.h"
#include "residency/instance_state.h"
#include "router/base/errors.h"

namespace corral::router {
namespace {

constexpr Millis kAgain{1'000};

}  // namespace

Result<std::shared_ptr<LoadSpec>> GroupLoads::spec_of(const GroupLoad& load) const {
  auto spec = std::make_shared<LoadSpec>();
  if (load.share) {
    spec->name = load.model->name;
    spec->type = load.model->type;
    spec->recipe = load.model->recipe;
    spec->to_check = true;
    spec->model = load.model;
    spec->share = true;
    spec->share_of = load.share;
    spec->recalled = load.recalled;
  } else {
    // The fingerprint is that of the usual options, so that a load without options finds the model loaded.
    auto usual = parts_.options.spec_of(load.model, OptionPatch());
    if (!usual) return std::unexpected(usual.error());
    spec = std::move(*usual);
    auto wanted = parts_.options.wanted(*load.model, OptionPatch());
    if (load.context > 0 && wanted.ctx_size.value_or(0) <= 0) wanted.ctx_size = static_cast<std::int64_t>(load.context);
    auto resolved = load.backend->resolve(*load.model, wanted);
    if (!resolved) return std::unexpected(resolved.error());
    spec->load_options = std::move(*resolved);
  }
  spec->origin = load.origin;
  spec->once = true;
  spec->backend = load.backend.get();
  spec->own_backend = load.backend;
  spec->others_ended_it = load.others_ended_it;
  if (load.deadline > Millis(0)) spec->load_deadline = load.deadline;
  return spec;
}

async::Task<Result<Lease>> GroupLoads::acquire(GroupLoad load) {
  auto spec = spec_of(load);
  if (!spec) co_return std::unexpected(spec.error());
  const auto& name = load.model->name;
  residency::Acquire question{{}, std::move(*spec)};
  auto asking = parts_.driver.ask(std::move(question));
  auto answer = co_await std::move(asking);
  if (const auto* error = std::get_if<Error>(&answer)) co_return std::unexpected(*error);
  const auto& granted = std::get<residency::Granted>(answer);
  const auto running = parts_.processes.find(granted.instance);
  auto lease = parts_.leases.make_lease(granted.lease, granted.instance);
  if (!lease) {
    parts_.leases.return_lease(granted.lease);
    co_return fail(errc::backend_died, fmt::format("'{}' ended right after its load", name.value()));
  }
  if (LoadSpec::of(running->spec).own_backend != load.backend)
    co_return fail(residency::errc::not_here,
                   fmt::format("'{}' is already in memory for another purpose", name.value()));
  co_return lease;
}

std::optional<residency::InstanceId> GroupLoads::instance_of(const backends::Backend& backend) const {
  for (const auto& [id, instance] : parts_.driver.core().state().instances) {
    if (LoadSpec::of(instance->spec).own_backend.get() == &backend) return id;
  }
  return std::nullopt;
}

async::Task<void> GroupLoads::end(std::shared_ptr<backends::Backend> of, std::string why) {
  while (const auto instance = instance_of(*of)) {
    if (const auto running = parts_.processes.find(*instance)) running->stop_cause = why;
    residency::EndInstance question{{}, *instance};
    auto asking = parts_.driver.ask(question);
    const auto answer = co_await std::move(asking);
    // The core couldn't decide, and gets a tick a second later (CoreDriver).
    if (std::holds_alternative<Error>(answer) && instance_of(*of)) co_await parts_.timers.sleep_for(kAgain);
  }
}

async::Task<void> GroupLoads::drain(std::shared_ptr<backends::Backend> of) {
  while (const auto instance = instance_of(*of)) {
    const auto& known = *parts_.driver.core().state().instances.at(*instance);
    auto name = known.spec->name;
    if (residency::is_resident(known.state)) {
      auto unloading = parts_.loads.unload(std::move(name));
      const auto gone = co_await std::move(unloading);
      if (gone) continue;
    }
    auto ending = end(of);  // its load is queued, running or aborted
    co_await std::move(ending);
  }
}

bool GroupLoads::is_there(const ModelName& model) const {
  const auto* known = parts_.driver.core().state().find(model);
  return known != nullptr && (known->current != nullptr || known->pending != nullptr);
}

}  // namespace corral::router
