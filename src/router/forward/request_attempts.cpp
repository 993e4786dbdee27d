#include "router/forward/request_attempts.h"

#include <utility>

#include <fmt/format.h>

#include "backends/external/errors.h"
#include "http/errors.h"
#include "protocol/client_tag.h"
#include "residency/errors.h"
#include "router/base/errors.h"

namespace corral::router {
namespace {

constexpr std::size_t kLargestChecked = 16 << 20;  // of bodies that are checked before a load, which needs a copy
// After a broken connection, the time in which the end of the process may be noticed.
constexpr Millis kDeathNotice{2'000};
// More than a mesh has linked nodes.
constexpr std::size_t kMaxPassedBy = 64;
constexpr int kMaxUnread = 3;  // after so many ends of processes that had not read it, no further one is loaded for it

}  // namespace

RequestAttempts::RequestAttempts(Parts parts, async::Executor executor, ForwardRequest request, http::RequestHead head,
                                 std::shared_ptr<ActiveRequest> active)
    : parts_(parts),
      executor_(executor),
      request_(std::move(request)),
      head_(std::move(head)),
      active_(std::move(active)),
      suspicion_(parts.quarantine, request_) {}

async::Task<RequestAttempts::Answer> RequestAttempts::next(std::optional<Millis> patience) {
  // Also before it causes a load.
  if (std::exchange(first_, false)) {
    if (auto off = quarantined()) co_return std::unexpected(std::move(*off));
  }
  while (true) {
    lease_.give_back();
    if (!acquisition_) lease_ = parts_.provider.try_acquire(*request_.model, request_.context.tokens);
    if (!lease_) {
      auto acquiring = acquire(patience);
      auto acquired = co_await std::move(acquiring);
      if (!acquired) co_return std::nullopt;
      if (!*acquired) co_return refused(acquired->error());
      lease_ = std::move(**acquired);
    }
    if (streams_) lease_.mark_streaming();
    if (auto off = quarantined()) co_return std::unexpected(std::move(*off));
    active_->start(lease_.node());
    if (!exchange_) exchange_ = make_exchange(request_);
    auto answer = co_await exchange_->run(lease_.target(executor_), head_);
    if (answer && exchange_->settles(*answer)) settle();
    if (answer) co_return answer;
    auto breaking = broke(answer.error(), false);
    auto failed = co_await std::move(breaking);
    if (failed) co_return std::unexpected(std::move(*failed));
  }
}

async::Task<std::optional<Error>> RequestAttempts::broke(Error cause, bool begun) {
  if (auto error = exchange_->client_error()) co_return error;
  // Its time limit is over; its backend may still work.
  if (cause.code == backends::external::errc::stalled) co_return cause;
  const bool sendable = !begun && exchange_->sendable();
  if (sendable && passes_by(cause)) co_return std::nullopt;
  auto ending = died(cause, sendable);
  const auto death = co_await std::move(ending);
  if (death && repeats_.take(*death)) co_return std::nullopt;
  co_return broken(death, cause);
}

bool RequestAttempts::Repeats::take(const Death& death) {
  if (!death.may_ask_again) return false;
  return death.unread ? ++unread_ <= kMaxUnread : !std::exchange(read_, true);
}

std::optional<Error> RequestAttempts::quarantined() {
  auto off = suspicion_.quarantined();
  if (off) active_->note_quarantine();
  return off;
}

async::Task<std::optional<Result<Lease>>> RequestAttempts::acquire(std::optional<Millis> patience) {
  if (!patience) co_return co_await parts_.provider.acquire(request_.model, lease_request());
  if (!acquisition_) {
    auto acquiring = parts_.provider.acquire(request_.model, lease_request());
    acquisition_ = std::make_unique<async::SpawnedTask<Result<Lease>>>(executor_, "acquire", std::move(acquiring));
  }
  const bool in_time = co_await acquisition_->wait(parts_.timers, *patience);
  if (!in_time) co_return std::nullopt;
  auto lease = acquisition_->take();
  acquisition_.reset();
  co_return lease;
}

LeaseRequest RequestAttempts::lease_request() const {
  LeaseRequest wanted{.context = request_.context,
                      .requester = request_.requester,
                      .streaming = {request_.stream, request_.ping_interval},
                      .nodes = {request_.conversation, avoid_, absent_, ended_}};
  if (!request_.upload && !request_.body.empty() && request_.body.size() <= kLargestChecked) {
    wanted.asked = std::make_shared<const AskedRequest>(
        AskedRequest{request_.ask, request_.body, std::string(head_.headers.get(protocol::kClientTag))});
  }
  return wanted;
}

Result<http::Response> RequestAttempts::refused(const Error& error) const {
  // An engine has already read and answered it.
  if (const auto* rejection = error.fact<RefusedRequest>())
    return http::Response::json(rejection->status, rejection->body);
  Error refusal = passed_by_.value_or(error);
  if (request_.once) refusal.facts = ForwardFailure{.unbegun = true, .ending = {}};
  return std::unexpected(std::move(refusal));
}

bool RequestAttempts::passes_by(const Error& error) {
  if (error.code != errc::not_begun || avoid_.size() + absent_.size() >= kMaxPassedBy) return false;
  const auto node = lease_.node();
  if (node == NodeRef()) return false;
  const auto* why = error.fact<Error>();
  (why != nullptr && why->code == residency::errc::not_here ? absent_ : avoid_).push_back(node);
  if (why != nullptr) passed_by_ = *why;
  return true;
}

async::Task<std::optional<RequestAttempts::Death>> RequestAttempts::died(Error cause, bool sendable) {
  auto gone = lease_.wait_for_exit();
  auto end = co_await async::with_timeout(parts_.timers, kDeathNotice, std::move(gone));
  if (!end) co_return std::nullopt;
  if (const auto node = lease_.node(); node != NodeRef()) ended_.push_back(node);
  passed_by_.reset();  // an earlier refusal of another node isn't the cause
  if (suspicion_.unread_by(*end).value_or(cause.code == http::errc::connect_failed))
    co_return Death{.ending = std::move(*end), .may_ask_again = sendable, .unread = true};
  Death death{.ending = std::move(*end)};
  const bool again = suspicion_.note(death.ending);
  death.may_ask_again = sendable && !request_.once && again;
  co_return death;
}

Error RequestAttempts::broken(const std::optional<Death>& death, const Error& cause) const {
  const auto code = death ? errc::backend_died : errc::backend_unreachable;
  Error error(make_error_code(code),
              fmt::format("the backend of '{}' {} while it worked on this request ({})", request_.model->name.value(),
                          death ? "ended" : "broke the connection", death ? death->ending.how : cause.message));
  if (request_.once && death) error.facts = ForwardFailure{.unbegun = false, .ending = death->ending};
  return error;
}

}  // namespace corral::router
