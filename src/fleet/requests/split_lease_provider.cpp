#include "fleet/requests/split_lease_provider.h"

#include <fmt/format.h>

#include "fleet/base/errors.h"
#include "residency/errors.h"
#include "router/base/errors.h"

namespace corral::fleet {
namespace {

constexpr Millis kLook{100};
// This node learns of the end of an engine within this time.
constexpr Millis kCatchUp{3'000};
// Time limit of a group's start: that of a load (router/options/model_options.cpp), plus time for the grants.
constexpr Millis kDeadlineBase{90'000};
constexpr std::uint64_t kSlowDiskBytesPerMilli = 50'000;
constexpr std::chrono::seconds kAgain{5};

// The engine has ended since the last report. The request itself isn't wrong, unlike with a context that no engine of
// the group has.
bool is_gone(const Error& error) {
  return (error.code == residency::errc::not_here && error.param != "ctx_size") ||
         error.code == router::errc::backend_died;
}

Error refusal(const std::string& name, const SplitStatus& status, const char* what) {
  Error error(make_error_code(errc::nowhere), fmt::format("'{}' is split over several nodes, and {}{}{}", name, what,
                                                          status.why.empty() ? "" : ": ", status.why));
  error.retry_after = kAgain;
  return error;
}

}  // namespace

async::Task<Result<router::Lease>> SplitLeaseProvider::acquire(backends::ModelPtr model, router::LeaseRequest request) {
  const auto deadline = timers_.now() + kDeadlineBase + Millis(model->size.value() / kSlowDiskBytesPerMilli);
  const auto& name = model->name.value();
  std::shared_ptr<void> place;
  std::optional<MonoTime> missed;
  while (true) {
    const auto status = splits_.find(*model);
    const auto now = timers_.now();
    if (!status || !status->is_here() || status->state == SplitStatus::State::standing) {
      auto asking = inner_.acquire(model, request);
      auto lease = co_await std::move(asking);
      if (lease || !is_gone(lease.error())) co_return lease;
      const bool here = status && status->is_here();
      // Its group has ended, and the router notices it in a moment. Other nodes get the router's own answer.
      if (!here && (request.requester.peer != router::NodeRef() || lease.error().code != residency::errc::not_here))
        co_return lease;
      if (!missed) missed = now;
      if (now - *missed >= kCatchUp)
        co_return here ? std::unexpected(refusal(name, *status, "its engine has just ended")) : std::move(lease);
    } else {
      missed.reset();
      const bool stuck = status->state == SplitStatus::State::stuck && now - status->since >= kSplitPatience;
      if (stuck) co_return std::unexpected(refusal(name, *status, "its group doesn't start now"));
      if (now >= deadline) co_return std::unexpected(refusal(name, *status, "its group isn't ready yet"));
    }
    if (!place) place = splits_.wait();
    if (!place)
      co_return std::unexpected(refusal(name, status.value_or(SplitStatus()), "too many requests wait for its group"));
    auto pause = timers_.sleep_for(kLook);
    co_await std::move(pause);
  }
}

}  // namespace corral::fleet
