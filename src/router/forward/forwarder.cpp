#include "router/forward/forwarder.h"

#include "protocol/client_tag.h"
#include "protocol/http_error.h"
#include "router/forward/forwarded_stream.h"
#include "router/forward/passed_body.h"

namespace corral::router {
namespace {

constexpr Millis kPingInterval{1'000};
// Maximum wait without a ping.
constexpr Millis kNoPing = std::chrono::hours(24 * 365);

// Silence of a waiting stream between pings.
Millis silence_of(const ForwardRequest& request) {
  const Millis interval = request.ping_interval.value_or(kPingInterval);
  return interval.count() > 0 ? interval : kNoPing;
}

Outcome outcome_of(unsigned status) {
  if (status < 400) return Outcome::ok;
  return status < 500 ? Outcome::refused : Outcome::failed;
}

}  // namespace

async::Task<Result<http::Response>> Forwarder::forward(ForwardRequest request) {
  const auto executor = co_await async::asio::this_coro::executor;
  RequestView about{.id = request.id,
                    .kind = RequestKind::inference,
                    .model = request.model->name,
                    .path = std::string(request.path()),
                    .owner = request.owner,
                    .stream = request.stream};
  const auto active = std::make_shared<ActiveRequest>(requests_, executor, std::move(about), request.model->type);
  active->on_start(std::move(request.placed));
  active->hold(std::move(request.held));
  const bool stream = request.stream;
  http::RequestHead head{"POST", std::string(request.path()), {}};
  head.headers.add("Content-Type", request.content_type);
  head.headers.add("X-Request-Id", request.id.value());
  head.headers.add(protocol::kClientTag, tags_.of(request.owner, request.client));
  if (request.background) head.headers.add(protocol::kPriority, protocol::kBackground);
  auto attempts = std::make_unique<RequestAttempts>(RequestAttempts::Parts{provider_, timers_, quarantine_}, executor,
                                                    std::move(request), std::move(head), active);
  auto answering = stream ? streamed(std::move(attempts), active) : passed(std::move(attempts), active);
  auto answered = co_await active->until_stopped(std::move(answering));
  if (!answered) co_return std::unexpected(active->why_stopped());
  auto& answer = *answered;
  // A stream continues, and reports its own end.
  if (!answer || !answer->body.streaming())
    active->end(outcome_of(answer ? answer->head.status : protocol::http_status(answer.error())));
  co_return std::move(answer);
}

async::Task<Result<http::Response>> Forwarder::passed(AttemptsPtr attempts, ActivePtr active) {
  auto asking = attempts->next();
  auto answer = co_await std::move(asking);
  if (!*answer) co_return std::unexpected(answer->error());
  co_return passed_on(std::move(**answer), attempts->take_lease(), std::move(active));
}

async::Task<Result<http::Response>> Forwarder::streamed(AttemptsPtr attempts, ActivePtr active) {
  const auto silence = silence_of(attempts->request());
  auto asking = attempts->next(silence);
  auto answer = co_await std::move(asking);
  if (!answer) {
    co_return http::Response::event_stream(
        std::make_unique<ForwardedStream>(std::move(attempts), std::move(active), silence, std::nullopt));
  }
  if (!*answer) co_return std::unexpected(answer->error());
  auto& received = **answer;
  if (received.head.status != 200) co_return std::move(received);
  if (!is_json(received.head) && !is_events(received.head))
    co_return passed_on(std::move(received), attempts->take_lease(), std::move(active));
  http::Response response{std::move(received.head), {}};
  response.body = http::Body(
      std::make_unique<ForwardedStream>(std::move(attempts), std::move(active), silence, std::move(received.body)));
  co_return response;
}

}  // namespace corral::router
