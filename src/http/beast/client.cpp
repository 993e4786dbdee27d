#include "http/client.h"

#include <array>
#include <deque>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include "async/timer.h"
#include "http/beast/reader.h"
#include "http/beast/wire.h"
#include "http/errors.h"

namespace corral::http {
namespace {

constexpr auto kWriteLimit = std::chrono::hours(24);  // an upload waits as long as its caller does
constexpr auto kReadLimit = std::chrono::hours(24);   // a model may think for long; the caller sets deadlines

using Connected = std::unique_ptr<Wire>;

// A kept connection that nobody wanted for this long is closed, before the server on the other side does it.
constexpr auto kIdleLimit = std::chrono::seconds(60);

Socket generic(auto socket) { return Socket(std::move(socket)); }

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  if (const auto* local = std::get_if<UnixEndpoint>(&endpoint)) return "unix:" + local->path.native();
  const auto& tcp = std::get<TcpEndpoint>(endpoint);
  return tcp.host + ":" + std::to_string(tcp.port);
}

struct Client::Impl : std::enable_shared_from_this<Client::Impl> {
  Impl(async::Executor on, Endpoint to, ClientOptions with) : executor(on), endpoint(std::move(to)), options(with) {}

  async::Executor executor;
  const Endpoint endpoint;
  const ClientOptions options;
  struct Idle {
    Connected wire;
    MonoTime since;
  };
  std::deque<Idle> idle;  // the one used last at the end

  async::Task<Result<Connected>> connect();
  async::Task<Result<Connected>> connect_now();
  std::string request_text(const RequestHead& head, std::string_view body) const;
  void give_back(Connected wire) {
    const auto now = MonoClock::now();
    while (!idle.empty() && (now - idle.front().since > kIdleLimit || idle.size() >= options.max_idle_connections)) {
      idle.pop_front();
    }
    idle.push_back({std::move(wire), now});
  }
};

namespace {

// The body of an answer. Gives its connection back to the pool once read to the end; closes it otherwise.
class ResponseBody final : public BodySource {
 public:
  ResponseBody(std::shared_ptr<Client::Impl> client, Connected wire, std::unique_ptr<MessageReader<false>> reader)
      : client_(std::move(client)),
        wire_(std::move(wire)),
        reader_(std::move(reader)),
        length_(reader_->content_length()) {}

  async::Task<Result<std::string_view>> read() override {
    if (!wire_) co_return std::string_view();
    const auto piece = co_await reader_->read_piece();
    if (piece && piece->empty()) release();
    co_return piece;
  }
  std::string_view take_ready() override { return wire_ ? reader_->ready_piece() : std::string_view(); }
  void abort() override {
    if (wire_) wire_->close();
  }
  std::optional<std::uint64_t> length() const override { return length_; }

 private:
  void release() {
    const bool reusable = reader_->keep_alive() && wire_->unread().empty();
    reader_.reset();
    if (reusable) client_->give_back(std::move(wire_));
    wire_.reset();
  }

  std::shared_ptr<Client::Impl> client_;
  Connected wire_;
  std::unique_ptr<MessageReader<false>> reader_;
  const std::optional<std::uint64_t> length_;
};

}  // namespace

async::Task<Result<Connected>> Client::Impl::connect() {
  async::SystemTimers timers;
  auto attempt = connect_now();
  auto connected = co_await async::with_timeout(timers, options.connect_timeout, std::move(attempt));
  if (!connected) co_return fail(errc::connect_failed, "no answer from " + to_string(endpoint));
  co_return std::move(*connected);
}

async::Task<Result<Connected>> Client::Impl::connect_now() {
  boost::system::error_code failure;
  if (const auto* local = std::get_if<UnixEndpoint>(&endpoint)) {
    asio::basic_stream_socket<asio::local::stream_protocol, async::Executor> socket(executor);
    const asio::local::stream_protocol::endpoint path(local->path.native());
    const auto [error] = co_await socket.async_connect(path, async::as_value);
    if (!error) co_return std::make_unique<Wire>(generic(std::move(socket)));
    failure = error;
  } else {
    const auto& tcp = std::get<TcpEndpoint>(endpoint);
    asio::ip::basic_resolver<asio::ip::tcp, async::Executor> resolver(executor);
    const auto service = std::to_string(tcp.port);
    const auto [error, addresses] = co_await resolver.async_resolve(tcp.host, service, async::as_value);
    failure = error;
    for (const auto& address : addresses) {
      asio::basic_stream_socket<asio::ip::tcp, async::Executor> socket(executor);
      const auto [refused] = co_await socket.async_connect(address.endpoint(), async::as_value);
      failure = refused;
      if (refused) continue;
      boost::system::error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      co_return std::make_unique<Wire>(generic(std::move(socket)));
    }
  }
  co_return fail(errc::connect_failed, fmt::format("can't connect to {}: {}", to_string(endpoint), failure.message()));
}

std::string Client::Impl::request_text(const RequestHead& head, std::string_view body) const {
  std::string text;
  text.reserve(512);
  text.append(head.method).append(" ").append(head.target).append(" HTTP/1.1\r\n");
  if (!head.headers.has("Host")) {
    text.append("Host: ")
        .append(std::holds_alternative<UnixEndpoint>(endpoint) ? "localhost" : to_string(endpoint))
        .append("\r\n");
  }
  for (const auto& [name, value] : head.headers) {
    if (is_hop_by_hop(name) || same_name(name, "Content-Length") || same_name(name, "Expect")) continue;
    text.append(name).append(": ").append(value).append("\r\n");
  }
  if (!body.empty() || head.method == "POST" || head.method == "PUT") {
    fmt::format_to(std::back_inserter(text), "Content-Length: {}\r\n", body.size());
  }
  return text.append("\r\n");
}

Client::Client(async::Executor executor, Endpoint endpoint, ClientOptions options)
    : impl_(std::make_shared<Impl>(executor, std::move(endpoint), options)) {}

Client::~Client() = default;

async::Task<Result<Response>> Client::send(const RequestHead& head, std::string_view body) {
  const auto impl = impl_;
  const auto text = impl->request_text(head, body);
  const ReadLimits limits{impl->options.max_header_bytes, ~0ull, kReadLimit, kReadLimit};
  while (true) {
    Connected wire;
    if (!impl->idle.empty() && MonoClock::now() - impl->idle.back().since > kIdleLimit) impl->idle.clear();
    const bool reused = !impl->idle.empty();
    if (reused) {
      wire = std::move(impl->idle.back().wire);
      impl->idle.pop_back();
    } else {
      auto connected = co_await impl->connect();
      if (!connected) co_return std::unexpected(connected.error());
      wire = std::move(*connected);
    }
    const std::array buffers = {asio::const_buffer(text.data(), text.size()),
                                asio::const_buffer(body.data(), body.size())};
    const auto written = co_await wire->write(buffers, kWriteLimit);
    auto reader = std::make_unique<MessageReader<false>>(*wire, limits);
    if (head.method == "HEAD") reader->expect_no_body();
    // A server may answer before it has read the whole body, then close: read even when the write failed.
    const auto answered = co_await reader->read_head(kReadLimit);
    if (!answered) {
      // A connection that sat in the pool may have been closed meanwhile; nothing of the request was seen then.
      if (reused && !reader->started()) continue;
      co_return std::unexpected(written ? answered.error() : written.error());
    }
    if (reader->head().status == 100) {
      co_return fail(errc::malformed, "an interim answer nobody asked for");
    }
    Response response;
    response.head = std::move(reader->head());
    if (reader->done()) {
      const bool reusable = written && reader->keep_alive() && wire->unread().empty();
      reader.reset();
      if (reusable) impl->give_back(std::move(wire));
    } else {
      response.body = Body(std::make_unique<ResponseBody>(impl, std::move(wire), std::move(reader)));
    }
    co_return response;
  }
}

}  // namespace corral::http
