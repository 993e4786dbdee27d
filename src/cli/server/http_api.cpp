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
#include "cli/server/form.h"
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
  Result<ApiReply> call(const ApiRequest& request) override { return wait_for_one(request, {}); }
  Result<ApiReply> stream(const ApiRequest& request, const EventSink& sink) override {
    return wait_for_one(request, {.events = &sink});
  }
  Result<ApiReply> receive(const ApiRequest& request, const ByteSink& sink) override {
    return wait_for_one(request, {.bytes = &sink});
  }
  Result<std::vector<ApiReply>> call_together(std::span<const ApiRequest> requests) override {
    if (requests.empty()) return std::vector<ApiReply>();
    return wait_for(requests, {});
  }
  Result<> pause(Millis time) override { return async::run_blocking(loop_, sleep_until_interrupted(time)); }

 private:
  // Where the body of a successful answer goes as it arrives; both null: into the reply.
  struct Sink {
    const EventSink* events = nullptr;
    const ByteSink* bytes = nullptr;
  };
  // Requests that run at the same time.
  struct Batch {
    std::vector<std::optional<ApiReply>> replies;
    std::size_t left;
    std::optional<Error> failure = {};
  };

  Result<ApiReply> wait_for_one(const ApiRequest& request, Sink sink) {
    auto replies = wait_for(std::span(&request, 1), sink);
    if (!replies) return std::unexpected(replies.error());
    return std::move(replies->front());
  }

  Result<std::vector<ApiReply>> wait_for(std::span<const ApiRequest> requests, Sink sink) {
    interrupts_.take();    // drop an earlier interrupt
    client_.close_idle();  // between calls the loop stands still, so the end of a server isn't noticed
    return async::run_blocking(loop_, until_interrupted(requests, sink));
  }

  // Waits for all answers or the interrupt, and cancels the other one, including the requests.
  async::Task<Result<std::vector<ApiReply>>> until_interrupted(std::span<const ApiRequest> requests, Sink sink) {
    Batch batch{.replies = std::vector<std::optional<ApiReply>>(requests.size()), .left = requests.size()};
    async::Event done(loop_.executor());
    bool late = false;
    async::TaskGroup group(loop_.executor());
    for (std::size_t i = 0; i < requests.size(); ++i) group.spawn("request", answer(requests[i], i, sink, batch, done));
    group.spawn("interrupt", interrupt(done));
    const Millis limit = requests.front().limit;
    if (limit > Millis(0)) group.spawn("limit", end_after(limit, late, done));
    co_await done.wait();
    // Read them first: a request that is cancelled below has an outcome, too.
    const bool answered = batch.left == 0;
    const auto failure = batch.failure;
    group.cancel();
    co_await group.join();
    if (failure) co_return std::unexpected(*failure);
    if (answered) {
      std::vector<ApiReply> replies;
      replies.reserve(batch.replies.size());
      for (auto& reply : batch.replies) replies.push_back(std::move(*reply));
      co_return replies;
    }
    if (late)
      co_return fail(errc::no_answer, fmt::format("{} gave no response within {} s", url(), limit.count() / 1000));
    interrupts_.take();
    co_return fail(errc::interrupted, "interrupted");
  }

  async::Task<Result<>> sleep_until_interrupted(Millis time) {
    async::Event done(loop_.executor());
    bool over = false;
    async::TaskGroup group(loop_.executor());
    group.spawn("interrupt", interrupt(done));
    group.spawn("pause", end_after(time, over, done));
    co_await done.wait();
    const bool is_over = over;
    group.cancel();
    co_await group.join();
    if (is_over) co_return Result<>();
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

  async::Task<void> answer(const ApiRequest& request, std::size_t index, Sink sink, Batch& batch, async::Event& done) {
    auto outcome = co_await exchange(request, sink);
    if (outcome) {
      batch.replies[index] = std::move(*outcome);
      --batch.left;
    } else if (!batch.failure) {
      batch.failure = outcome.error();
    }
    if (batch.left == 0 || batch.failure) done.set();
  }

  async::Task<Result<http::Response>> send(const ApiRequest& request, bool events) {
    auto head = head_of(request, events);
    if (!request.form) co_return co_await client_.send(head, request.body);
    const auto body = FormBody::open(*request.form);
    if (!body) co_return std::unexpected(body.error());
    head.headers.set("Content-Type", (*body)->content_type());
    co_return co_await client_.upload(head, **body);
  }

  async::Task<Result<ApiReply>> exchange(const ApiRequest& request, Sink sink) {
    auto response = co_await send(request, sink.events != nullptr);
    if (!response) co_return std::unexpected(explain(response.error()));
    ApiReply reply{response->head.status, {}};
    const bool events = response->head.headers.get("Content-Type").starts_with("text/event-stream");
    if (sink.events != nullptr && events) {
      http::SseParser parser(*sink.events);
      const auto feed = [&parser](std::string_view piece) {
        parser.feed(piece);
        return true;
      };
      const auto read = co_await read_pieces(*response, feed);
      if (!read) co_return std::unexpected(read.error());
      co_return reply;
    }
    if (sink.bytes != nullptr && reply.status < 400) {
      const auto read = co_await read_pieces(*response, *sink.bytes);
      if (!read) co_return std::unexpected(read.error());
      co_return reply;
    }
    auto text = co_await response->body.read_all(kMaxAnswer);
    if (!text) co_return std::unexpected(explain(text.error()));
    reply.body = std::move(*text);
    co_return reply;
  }

  async::Task<Result<>> read_pieces(http::Response& response, ByteSink take) {
    if (!response.body.streaming()) {
      if (!response.body.text().empty()) take(response.body.text());
      co_return Result<>();
    }
    const auto source = response.body.take_source();
    while (true) {
      const auto piece = co_await source->read();
      if (!piece) co_return std::unexpected(explain(piece.error()));
      if (piece->empty() || !take(*piece)) co_return Result<>();
    }
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
    if (cause.code == errc::usage) return cause;  // of a file to send
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
