#include "backends/external/external_requests.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/external/counted_answer.h"
#include "backends/external/errors.h"
#include "backends/external/external_answer.h"
#include "protocol/http_error.h"

namespace corral::backends {
namespace {

// Gives the place of a request away, if the request ends before its answer begins.
class Unanswered {
 public:
  Unanswered(const ExternalRequests::Abandoned& abandoned, RequestGate::Place& place)
      : abandoned_(abandoned), place_(place) {}
  ~Unanswered() {
    if (!answered_ && abandoned_) abandoned_(std::move(place_));
  }
  Unanswered(const Unanswered&) = delete;
  Unanswered& operator=(const Unanswered&) = delete;
  void answered() { answered_ = true; }

 private:
  const ExternalRequests::Abandoned& abandoned_;
  RequestGate::Place& place_;
  bool answered_ = false;
};

}  // namespace

ExternalRequests::ExternalRequests(async::Timers& timers, const Descriptor& descriptor, std::string model,
                                   std::shared_ptr<RequestReports> reports)
    : timers_(timers),
      gate_(RequestGate::make(descriptor.concurrency)),
      limit_(std::make_shared<RequestLimit>(timers, descriptor.request_timeout, std::move(model))),
      reports_(std::move(reports)) {}

async::Task<Result<http::Response>> ExternalRequests::run(Send send, bool counts) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto watched = WatchedRequest::begin(limit_, executor);
  auto answering = answer(executor, watched, std::move(send), counts);
  auto limited = WatchedRequest::limited(watched, std::move(answering));
  co_return co_await std::move(limited);
}

async::Task<Result<http::Response>> ExternalRequests::answer(async::Executor executor,
                                                             std::shared_ptr<WatchedRequest> watched, Send send,
                                                             bool counts) {
  auto place = co_await gate_->enter();
  watched->program_works();
  const auto began = timers_.now();
  Unanswered unanswered(abandoned_, place);
  auto sending = send(*watched);
  auto answer = co_await std::move(sending);
  unanswered.answered();
  if (!answer) co_return answer;
  auto passed = passed_answer(std::move(*answer), {executor, std::move(watched), std::move(place)});
  if (!counts) co_return passed;
  co_return counted_answer(std::move(passed), reports_, timers_, began);
}

const protocol::AskRow* ask_of(const http::RequestHead& head) {
  if (head.method != "POST") return nullptr;
  const auto table = protocol::ask_table();
  const auto row = std::ranges::find(table, head.path(), &protocol::AskRow::path);
  return row == table.end() ? nullptr : &*row;
}

Error not_served(std::string_view model, const Descriptor& descriptor, std::string_view what) {
  return {make_error_code(external::errc::not_served),
          fmt::format("'{}' is served by the backend '{}', which has no {}", model, descriptor.recipe, what)};
}

http::Response refusal(const Error& error) {
  auto answer = protocol::error_answer(error);
  auto response = http::Response::json(answer.status, std::move(answer.body));
  response.failure = std::make_shared<const Error>(error);
  return response;
}

}  // namespace corral::backends
