// The WebSocket of the Responses API. Each message of the client is a request like one of POST responses: it passes all
// filters and limits with the headers of the WebSocket, so a key that was deleted meanwhile is refused. Its events come
// back as messages. One response is made at a time.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "api/base/body_check.h"
#include "api/base/core_routes.h"
#include "api/responses/last_response.h"
#include "api/responses/routes.h"
#include "api/responses/socket_message.h"
#include "dialects/error_filter.h"
#include "http/request_id.h"
#include "http/sse.h"
#include "http/web_socket.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

constexpr std::uint64_t kLongestError = 1 << 20;

// The head of each message's request.
http::RequestHead head_of_messages(http::RequestHead head) {
  static constexpr auto kOfTheSocket =
      std::to_array<std::string_view>({"Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version",
                                       "Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol", "Content-Length"});
  head.method = "POST";
  for (const auto name : kOfTheSocket) head.headers.remove(name);
  head.headers.set("Content-Type", "application/json");
  return head;
}

struct Conversation {
  ResponsesContext& context;
  http::RequestHead head;
  std::string peer;
  std::shared_ptr<LastResponse> last = std::make_shared<LastResponse>();
};

async::Task<http::Response> answer_of(Conversation& conversation, http::Handler& handler, std::string message) {
  auto* const threads = conversation.context.bodies.threads;
  const bool small = threads == nullptr || message.size() <= kSmallBody;
  auto work = [message = std::move(message)]() mutable { return body_of_message(std::move(message)); };
  Result<std::string> body;
  if (small) {
    body = work();
  } else {
    auto working = threads->run(std::move(work));
    body = co_await std::move(working);
  }
  if (!body) co_return dialects::error_response(body.error());
  http::Request request{.head = conversation.head,
                        .body = http::Body(std::move(*body)),
                        .id = http::new_request_id(),
                        .peer = conversation.peer,
                        .session = conversation.last};
  auto handling = handler.handle(std::move(request));
  co_return co_await std::move(handling);
}

// The result of a message.
struct Outcome {
  bool sent = true;     // the client still listens
  bool failed = false;  // the response
};

async::Task<Outcome> send_error(http::WebSocket& socket, unsigned status, std::string answer) {
  const auto event = error_message(status, answer);
  auto writing = socket.write(event);
  const auto written = co_await std::move(writing);
  co_return Outcome{.sent = written.has_value(), .failed = true};
}

async::Task<Outcome> send_events(http::WebSocket& socket, http::BodySource& source) {
  std::vector<std::string> events;
  bool failed = false;
  http::SseParser parser([&](std::string_view name, std::string_view data) {
    failed = failed || name == "response.failed";
    events.emplace_back(data);
  });
  auto piece = source.take_ready();
  while (true) {
    parser.feed(piece);
    for (const auto& event : std::exchange(events, {})) {
      auto writing = socket.write(event);
      const auto written = co_await std::move(writing);
      if (!written) co_return Outcome{.sent = false, .failed = true};
    }
    auto reading = source.read();
    const auto next = co_await std::move(reading);
    if (!next) {
      auto broken = dialects::error_response(next.error());
      auto sending = send_error(socket, broken.head.status, std::move(broken.body.text()));
      co_return co_await std::move(sending);
    }
    if (next->empty()) co_return Outcome{.failed = failed};
    piece = *next;
  }
}

async::Task<Outcome> send(http::WebSocket& socket, http::Response answer) {
  if (answer.head.status < 400 && answer.body.streaming()) {
    auto sending = send_events(socket, *answer.body.source());
    co_return co_await std::move(sending);
  }
  auto reading = answer.body.read_all(kLongestError);
  auto text = co_await std::move(reading);
  auto sending = send_error(socket, answer.head.status, text ? std::move(*text) : std::string());
  co_return co_await std::move(sending);
}

async::Task<void> converse(std::shared_ptr<Conversation> conversation, http::WebSocket& socket,
                           http::Handler& handler) {
  auto& last = *conversation->last;
  while (true) {
    auto reading = socket.read();
    auto message = co_await std::move(reading);
    if (!message) co_return;
    last.begin();
    auto answering = answer_of(*conversation, handler, std::move(*message));
    auto answer = co_await std::move(answering);
    auto sending = send(socket, std::move(answer));
    const auto outcome = co_await std::move(sending);
    if (outcome.failed) last.failed();
    if (!outcome.sent) co_return;
  }
}

async::Task<http::Response> open(ResponsesContext& context, http::Request request) {
  if (!http::asks_for_web_socket(request.head)) {
    auto refusal = dialects::error_response(
        Error(make_error_code(protocol::errc::unsupported_value),
              "this path takes POST, or GET to open a WebSocket: send 'Upgrade: websocket'", "Upgrade"));
    refusal.head.status = 426;
    co_return refusal;
  }
  auto conversation = std::make_shared<Conversation>(
      Conversation{context, head_of_messages(std::move(request.head)), std::move(request.peer)});
  http::Response accepted{http::ResponseHead{101, {}}, {}};
  accepted.upgrade = [conversation](http::WebSocket& socket, http::Handler& outermost) {
    return converse(conversation, socket, outermost);
  };
  co_return accepted;
}

}  // namespace

void add_response_socket(std::vector<http::Route>& routes, ResponsesContext& context) {
  add_core(routes, "GET", "responses",
           [&context](http::Request request, http::PathParams) { return open(context, std::move(request)); });
}

}  // namespace corral::api
