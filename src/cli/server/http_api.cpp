#include "cli/server/http_api.h"

#include <optional>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "async/event.h"
#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "cli/errors.h"
#include "http/client.h"
#include "http/errors.h"
#include "http/sse.h"

namespace corral::cli {
namespace {

constexpr std::uint64_t kMaxAnswer = 64ull << 20;

bool is_readable(int fd) {
  pollfd asked{fd, POLLIN, 0};
  return ::poll(&asked, 1, 0) == 1;
}

// Returns once `fd` is readable. Cancellable.
async::Task<void> wait_readable(int fd) {
  using Descriptor = async::asio::posix::basic_stream_descriptor<async::Executor>;
  const async::Executor executor = co_await async::asio::this_coro::executor;
  Descriptor descriptor(executor, ::dup(fd));  // its destructor closes the duplicate
  // A wait also ends for an event of a connection that was just closed, whose number `descriptor` now has.
  do {
    co_await descriptor.async_wait(Descriptor::wait_read, async::use_task);
  } while (!is_readable(fd));
}

class HttpApi final : public ServerApi {
 public:
  HttpApi(const Address& address, Interrupts& interrupts)
      : address_(address),
        interrupts_(interrupts),
        client_(loop_.executor(), timers_, http::TcpEndpoint{address.host, address.port}, {.max_idle_connections = 1}) {
  }

  std::string url() const override { return address_.url(); }
  Result<ApiReply> call(const ApiRequest& request) override { return wait_for(request, nullptr); }
  Result<ApiReply> stream(const ApiRequest& request, const EventSink& sink) override {
    return wait_for(request, &sink);
  }

 private:
  using Outcome = std::optional<Result<ApiReply>>;

  Result<ApiReply> wait_for(const ApiRequest& request, const EventSink* sink) {
    interrupts_.take();    // drop an earlier interrupt
    client_.close_idle();  // between calls the loop stands still, so the end of a server isn't noticed
    return async::run_blocking(loop_, until_interrupted(request, sink));
  }

  // Waits for the answer or the interrupt, and cancels the other one, including the request.
  async::Task<Result<ApiReply>> until_interrupted(ApiRequest request, const EventSink* sink) {
    Outcome outcome;
    async::Event done(loop_.executor());
    bool late = false;
    async::TaskGroup group(loop_.executor());
    group.spawn("request", answer(request, sink, outcome, done));
    group.spawn("interrupt", interrupt(done));
    if (request.limit > Millis(0)) group.spawn("limit", end_after(request.limit, late, done));
    co_await done.wait();
    const bool answered = outcome.has_value();  // read it first: a request that is cancelled below has an outcome, too
    group.cancel();
    co_await group.join();
    if (answered) co_return std::move(*outcome);
    if (late)
      co_return fail(errc::no_answer,
                     fmt::format("{} gave no response within {} s", url(), request.limit.count() / 1000));
    interrupts_.take();
    co_return fail(errc::interrupted, "interrupted");
  }

  async::Task<void> interrupt(async::Event& done) {
    co_await wait_readable(interrupts_.fd());
    done.set();
  }

  async::Task<void> end_after(Millis limit, bool& late, async::Event& done) {
    co_await timers_.sleep_for(limit);
    late = true;
    done.set();
  }

  async::Task<void> answer(const ApiRequest& request, const EventSink* sink, Outcome& outcome, async::Event& done) {
    outcome = co_await exchange(request, sink);
    done.set();
  }

  async::Task<Result<ApiReply>> exchange(const ApiRequest& request, const EventSink* sink) {
    const http::RequestHead head = head_of(request, sink != nullptr);
    auto response = co_await client_.send(head, request.body);
    if (!response) co_return std::unexpected(explain(response.error()));
    ApiReply reply{response->head.status, {}};
    const bool events = response->head.headers.get("Content-Type").starts_with("text/event-stream");
    if (sink && events) {
      auto source = response->body.take_source();
      http::SseParser parser(*sink);
      while (source) {
        const auto piece = co_await source->read();
        if (!piece) co_return std::unexpected(explain(piece.error()));
        if (piece->empty()) break;
        parser.feed(*piece);
      }
      co_return reply;
    }
    auto text = co_await response->body.read_all(kMaxAnswer);
    if (!text) co_return std::unexpected(explain(text.error()));
    reply.body = std::move(*text);
    co_return reply;
  }

  http::RequestHead head_of(const ApiRequest& request, bool events) const {
    http::RequestHead head{request.method, address_.prefix + request.path, {}};
    head.headers.add("Host", address_.authority());
    head.headers.add("Accept", events ? "text/event-stream, application/json" : "application/json");
    if (!request.body.empty()) head.headers.add("Content-Type", "application/json");
    if (!address_.api_key.empty()) head.headers.add("Authorization", "Bearer " + address_.api_key);
    return head;
  }

  Error explain(const Error& cause) const {
    if (cause.code == http::errc::connect_failed) {
      return {errc::no_server,
              fmt::format("no corral server responds at {} ({}); start one with: corral serve", url(), cause.message)};
    }
    return {errc::bad_answer, fmt::format("the response of {} was cut off: {}", url(), cause.message)};
  }

  const Address address_;
  Interrupts& interrupts_;
  async::SystemTimers timers_;
  async::Loop loop_;
  http::Client client_;
};

}  // namespace

std::unique_ptr<ServerApi> connect_http(const Address& address, Interrupts& interrupts) {
  return std::make_unique<HttpApi>(address, interrupts);
}

}  // namespace corral::cli
