#include "http/client.h"

#include <array>
#include <deque>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include "async/timer.h"
#include "http/beast/buffered_socket.h"
#include "http/beast/reader.h"
#include "http/errors.h"

namespace corral::http {
namespace {

using Connected = std::unique_ptr<BufferedSocket>;

// An idle connection is closed after this time, before its server does it.
constexpr auto kIdleLimit = std::chrono::seconds(60);

Socket generic(auto socket) { return Socket(std::move(socket)); }

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  if (const auto* local = std::get_if<UnixEndpoint>(&endpoint)) return "unix:" + local->path.native();
  if (const auto* opened = std::get_if<OpenedEndpoint>(&endpoint)) return opened->name;
  const auto& tcp = std::get<TcpEndpoint>(endpoint);
  const bool bare_v6 = tcp.host.contains(':') && !tcp.host.starts_with('[');
  return (bare_v6 ? "[" + tcp.host + "]" : tcp.host) + ":" + std::to_string(tcp.port);
}

struct Client::Impl : std::enable_shared_from_this<Client::Impl> {
  Impl(async::Executor on, const Clock& the_clock, Endpoint to, ClientOptions with)
      : executor(on), clock(the_clock), endpoint(std::move(to)), options(with) {}

  async::Executor executor;
  const Clock& clock;
  const Endpoint endpoint;
  const ClientOptions options;
  struct Idle {
    Connected wire;
    MonoTime since;
  };
  std::deque<Idle> idle;  // most recently used at the end

  async::Task<Result<Connected>> connect();
  async::Task<Result<Connected>> connect_now();
  // `length`: of the body; nothing: sent in chunks.
  std::string request_text(const RequestHead& head, std::optional<std::uint64_t> length, bool asks = false) const;
  void give_back(Connected wire) {
    const auto now = clock.now();
    while (!idle.empty() && (now - idle.front().since > kIdleLimit || idle.size() >= options.max_idle_connections)) {
      idle.pop_front();
    }
    wire->shrink();
    idle.push_back({std::move(wire), now});
  }
  // An idle connection that its server has not closed, as far as is known here; null: none.
  Connected take_kept() {
    const auto now = clock.now();
    if (!idle.empty() && now - idle.back().since > kIdleLimit) idle.clear();
    while (!idle.empty()) {
      auto kept = std::move(idle.back());
      idle.pop_back();
      if (!kept.wire->is_readable()) return std::move(kept.wire);
    }
    return nullptr;
  }
};

namespace {

// The body of an answer. Returns its connection to the pool after its end; else closes the connection.
class ResponseBody final : public BodySource {
 public:
  ResponseBody(std::shared_ptr<Client::Impl> client, Connected wire, std::unique_ptr<MessageReader<false>> reader,
               bool may_keep)
      : client_(std::move(client)),
        wire_(std::move(wire)),
        reader_(std::move(reader)),
        length_(reader_->content_length()),
        may_keep_(may_keep) {}

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
    const bool reusable = may_keep_ && reader_->keep_alive() && wire_->unread().empty();
    reader_.reset();
    if (reusable) client_->give_back(std::move(wire_));
    wire_.reset();
  }

  std::shared_ptr<Client::Impl> client_;
  Connected wire_;
  std::unique_ptr<MessageReader<false>> reader_;
  const std::optional<std::uint64_t> length_;
  const bool may_keep_;
};

// The answer after its head. `sent`: the request was sent completely, so that another one may follow.
Result<Response> response_of(std::shared_ptr<Client::Impl> client, Connected wire,
                             std::unique_ptr<MessageReader<false>> reader, bool sent) {
  if (reader->head().status == 100) return fail(errc::malformed, "the server sent an unexpected interim answer (100)");
  Response response;
  response.head = std::move(reader->head());
  if (reader->done()) {
    const bool reusable = sent && reader->keep_alive() && wire->unread().empty();
    reader.reset();
    if (reusable) client->give_back(std::move(wire));
  } else {
    response.body = Body(std::make_unique<ResponseBody>(std::move(client), std::move(wire), std::move(reader), sent));
  }
  return response;
}

// True: the whole body was sent. False: the server accepts no more; it may have answered.
async::Task<Result<bool>> send_all(BufferedSocket& wire, std::string head, BodySource& body, bool chunked) {
  std::string lead = std::move(head);  // sent with the next piece
  while (true) {
    const auto piece = co_await body.read();
    if (!piece) co_return std::unexpected(piece.error());
    const bool last = piece->empty();
    if (chunked) fmt::format_to(std::back_inserter(lead), "{:x}\r\n", piece->size());
    const std::string_view tail = chunked ? "\r\n" : "";
    const std::array buffers = {asio::const_buffer(lead.data(), lead.size()),
                                asio::const_buffer(piece->data(), piece->size()),
                                asio::const_buffer(tail.data(), tail.size())};
    const auto written = co_await wire.write(buffers);
    if (!written) co_return false;
    if (last) co_return true;
    lead.clear();
  }
}

async::Task<void> until_readable(BufferedSocket& wire, bool& readable) {
  // A wait may also end for an event of a closed socket with the same number.
  while (!readable) {
    const auto [error] = co_await wire.socket().async_wait(Socket::wait_read, async::as_value);
    if (error) co_return;
    readable = wire.is_readable();
  }
}

}  // namespace

async::Task<Result<Connected>> Client::Impl::connect() {
  async::SystemTimers timers;
  auto attempt = connect_now();
  auto connected = co_await async::with_timeout(timers, options.connect_timeout, std::move(attempt));
  if (!connected) co_return fail(errc::connect_failed, "no answer from " + to_string(endpoint));
  co_return std::move(*connected);
}

async::Task<Result<Connected>> Client::Impl::connect_now() {
  if (const auto* opened = std::get_if<OpenedEndpoint>(&endpoint)) {
    auto opening = opened->open();
    auto descriptor = co_await std::move(opening);
    if (!descriptor) co_return std::unexpected(descriptor.error());
    auto socket = socket_of(std::move(*descriptor), executor);
    if (!socket) co_return std::unexpected(socket.error());
    co_return std::make_unique<BufferedSocket>(std::move(*socket));
  }
  boost::system::error_code failure;
  if (const auto* local = std::get_if<UnixEndpoint>(&endpoint)) {
    asio::basic_stream_socket<asio::local::stream_protocol, async::Executor> socket(executor);
    const asio::local::stream_protocol::endpoint path(local->path.native());
    const auto [error] = co_await socket.async_connect(path, async::as_value);
    if (!error) co_return std::make_unique<BufferedSocket>(generic(std::move(socket)));
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
      co_return std::make_unique<BufferedSocket>(generic(std::move(socket)));
    }
  }
  co_return fail(errc::connect_failed, fmt::format("can't connect to {}: {}", to_string(endpoint), failure.message()));
}

std::string Client::Impl::request_text(const RequestHead& head, std::optional<std::uint64_t> length, bool asks) const {
  std::string text;
  text.reserve(512);
  text.append(head.method).append(" ").append(head.target).append(" HTTP/1.1\r\n");
  if (!head.headers.has("Host")) {
    text.append("Host: ")
        .append(std::holds_alternative<TcpEndpoint>(endpoint) ? to_string(endpoint) : "localhost")
        .append("\r\n");
  }
  for (const auto& [name, value] : head.headers) {
    if (is_hop_by_hop(name) || same_name(name, "Content-Length") || same_name(name, "Expect")) continue;
    text.append(name).append(": ").append(value).append("\r\n");
  }
  if (!length) {
    text.append("Transfer-Encoding: chunked\r\n");
  } else if (*length > 0 || head.method == "POST" || head.method == "PUT") {
    fmt::format_to(std::back_inserter(text), "Content-Length: {}\r\n", *length);
  }
  if (asks) text.append("Expect: 100-continue\r\n");
  return text.append("\r\n");
}

Client::Client(async::Executor executor, const Clock& clock, Endpoint endpoint, ClientOptions options)
    : impl_(std::make_shared<Impl>(executor, clock, std::move(endpoint), options)) {}

Client::~Client() = default;

void Client::close_idle() { impl_->idle.clear(); }

async::Task<Result<Response>> Client::send(const RequestHead& head, std::string_view body) {
  const auto impl = impl_;
  const auto text = impl->request_text(head, body.size());
  // Without a time limit: a model may think for long, and the caller sets deadlines.
  const ReadLimits limits{.header_bytes = impl->options.max_header_bytes};
  // Of the kept connection that ended without a byte. Servers close idle connections when they like, also while a
  // request is on its way; then it is sent once more, on a new connection.
  std::optional<Error> closed;
  while (true) {
    auto wire = closed ? nullptr : impl->take_kept();
    const bool reused = wire != nullptr;
    if (!reused) {
      auto connected = co_await impl->connect();
      // The server may be gone because of this request: its end is the error.
      if (!connected) co_return std::unexpected(closed ? std::move(*closed) : std::move(connected.error()));
      wire = std::move(*connected);
    }
    const std::array buffers = {asio::const_buffer(text.data(), text.size()),
                                asio::const_buffer(body.data(), body.size())};
    const auto written = co_await wire->write(buffers);
    auto reader = std::make_unique<MessageReader<false>>(*wire, limits);
    if (head.method == "HEAD") reader->expect_no_body();
    // A server may answer before it has read the whole body, then close: read even when the write failed.
    const auto answered = co_await reader->read_head();
    if (!answered) {
      Error error = written ? answered.error() : written.error();
      if (!reused || reader->started()) co_return std::unexpected(std::move(error));
      closed = std::move(error);
      continue;
    }
    co_return response_of(impl, std::move(wire), std::move(reader), written.has_value());
  }
}

async::Task<Result<Response>> Client::upload(const RequestHead& head, BodySource& body) {
  const auto impl = impl_;
  const auto length = body.length();
  const bool asks = impl->options.ask_before_upload;
  auto text = impl->request_text(head, length, asks);
  auto connected = co_await impl->connect();
  if (!connected) co_return std::unexpected(connected.error());
  auto wire = std::move(*connected);
  if (asks) {
    const std::array buffers = {asio::const_buffer(text.data(), text.size())};
    const auto written = co_await wire->write(buffers);
    auto reader =
        std::make_unique<MessageReader<false>>(*wire, ReadLimits{.header_bytes = impl->options.max_header_bytes});
    const auto leave = co_await reader->read_head();
    if (!leave) co_return std::unexpected(written ? leave.error() : written.error());
    constexpr unsigned kContinue = 100;
    if (reader->head().status != kContinue) co_return response_of(impl, std::move(wire), std::move(reader), false);
    text.clear();  // it was sent
  }
  auto sending = send_all(*wire, std::move(text), body, !length);
  bool answered_early = false;
  auto answering = until_readable(*wire, answered_early);
  const auto sent = co_await async::race(std::move(sending), std::move(answering));
  // If the body ended because of an early answer, that answer is the result.
  if (sent && !*sent && !answered_early) co_return std::unexpected(sent->error());
  const ReadLimits limits{.header_bytes = impl->options.max_header_bytes};
  auto reader = std::make_unique<MessageReader<false>>(*wire, limits);
  const auto answered = co_await reader->read_head();
  if (!answered) co_return std::unexpected(answered.error());
  const bool complete = sent && *sent && **sent;
  co_return response_of(impl, std::move(wire), std::move(reader), complete);
}

}  // namespace corral::http
