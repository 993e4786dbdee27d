#include "http/beast/connection.h"

#include <array>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "async/offload.h"
#include "base/log.h"
#include "http/passing.h"
#include "http/request_id.h"
#include "http/web_socket.h"

namespace corral::http {
namespace {

// A body that a handler didn't read is skipped up to this size; beyond that, closing is cheaper.
constexpr std::uint64_t kDrainLimit = 256 * 1024;
// Bodies up to this size aren't counted against the common limit: they are small, and nearly all bodies are.
constexpr std::uint64_t kSmallBody = 64 * 1024;
constexpr std::uint64_t kBudgetStep = 64 * 1024;
// Limit for bytes that a client sends after an answer that it should read before the connection ends.
constexpr MinRate kLingerPace{std::chrono::seconds(5), 0};
constexpr std::uint64_t kLingerBytes = 64ull << 20;

// Bytes of a path that are kept while its request is answered; no API has longer ones.
constexpr std::size_t kLongestPath = 256;

bool plain_token(std::string_view text) {
  const auto visible = [](char c) { return c > ' ' && c < 127; };
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, visible);
}

bool has_no_body(unsigned status) { return status < 200 || status == 204 || status == 304; }

unsigned status_of(const Error& error) {
  if (error.code == errc::header_too_large) return 431;
  if (error.code == errc::too_large) return 413;
  if (error.code == errc::unknown_coding) return 501;
  if (error.code == errc::unsupported_encoding) return 415;
  return error.code == errc::timed_out ? 408 : 400;
}

Error no_room(const BodyBudget& bodies) {
  Error error(make_error_code(errc::bodies_full),
              fmt::format("large request bodies of all clients use {} of {} bytes; retry soon, send a smaller body, or "
                          "raise max_bodies_bytes",
                          bodies.used(), bodies.limit()));
  error.retry_after = std::chrono::seconds(1);
  return error;
}

}  // namespace

class Connection::RequestBody final : public PassingBody {
 public:
  RequestBody(std::shared_ptr<Connection> connection, std::shared_ptr<ContentDecoder> decoder)
      : connection_(std::move(connection)), decoder_(std::move(decoder)) {}

  async::Task<Result<std::string_view>> read() override {
    if (failure_) co_return std::unexpected(*failure_);
    if (decoder_) {
      auto decoding = read_decoded();
      auto piece = co_await std::move(decoding);
      if (!piece) failure_ = piece.error();
      co_return piece;
    }
    auto reading = read_sent();
    const auto piece = co_await std::move(reading);
    if (piece) {
      if (const auto counted = connection_->count_body(piece->size()); !counted)
        co_return std::unexpected(counted.error());
    }
    co_return piece;
  }
  std::string_view take_ready() override {
    if (decoder_ || failure_) return {};
    // If the limit is exceeded, the next read() fails.
    const bool counts = !connection_->body_passes_by_;
    if (counts && connection_->body_bytes_ > connection_->budgeted_ && connection_->body_bytes_ > kSmallBody) return {};
    const auto piece = connection_->reader_->ready_piece();
    connection_->body_bytes_ += piece.size();
    return piece;
  }
  std::optional<std::uint64_t> length() const override {
    return decoder_ ? std::nullopt : connection_->reader_->content_length();
  }
  void passes_by() override { connection_->body_passes_by_ = true; }

 private:
  // The next bytes as they were sent.
  async::Task<Result<std::string_view>> read_sent() {
    auto& connection = *connection_;
    if (connection.body_bytes_ == 0 && !connection.body_passes_by_) {
      // Rejected before it is sent, because waiting wouldn't help.
      const auto announced = connection.reader_->content_length().value_or(0);
      if (announced > kSmallBody && announced > connection.bodies_.left())
        co_return std::unexpected(no_room(connection.bodies_));
    }
    if (connection.expects_continue_) {
      connection.expects_continue_ = false;
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      const std::array buffers = {asio::const_buffer(kContinue.data(), kContinue.size())};
      const auto written = co_await connection.wire_.write(buffers);
      if (!written) co_return std::unexpected(written.error());
    }
    co_return co_await connection.reader_->read_piece();
  }

  async::Task<Result<std::string_view>> read_decoded() {
    while (true) {
      auto stepping = decode();
      const auto step = co_await std::move(stepping);
      if (!step) co_return std::unexpected(step.error());
      const auto counted = connection_->count_body(step->bytes.size(), decoder_->memory());
      if (!counted) co_return std::unexpected(counted.error());
      if (!step->bytes.empty()) co_return step->bytes;
      if (!step->hungry) continue;
      auto reading = read_sent();
      const auto sent = co_await std::move(reading);
      if (!sent) co_return std::unexpected(sent.error());
      if (!sent->empty()) {
        decoder_->feed(*sent);
        continue;
      }
      if (const auto whole = decoder_->finish(); !whole) co_return std::unexpected(whole.error());
      decoder_ = nullptr;
      connection_->count_body(0);
      co_return std::string_view();
    }
  }

  // One step of the decoder: here as long as it is little work, then on a thread.
  async::Task<Result<ContentDecoder::Step>> decode() {
    if (decoder_->handled() <= kSmallBody) co_return decoder_->step();
    if (auto* const threads = connection_->options_.threads) {
      auto stepping = threads->run([decoder = decoder_] { return decoder->step(); });
      co_return co_await std::move(stepping);
    }
    co_await asio::post(async::use_task);  // others of this loop have their turn
    co_return decoder_->step();
  }

  const std::shared_ptr<Connection> connection_;
  std::shared_ptr<ContentDecoder> decoder_;  // null: the body is as it was sent, or was decoded
  std::optional<Error> failure_;             // of the decoder; it fails all further reads
};

// For messages that are requests: an exception is an answer, as for requests of their own.
class Connection::MessageHandler final : public Handler {
 public:
  explicit MessageHandler(Connection& connection) : connection_(connection) {}
  async::Task<Response> handle(Request request) override {
    auto handling = connection_.call_handler(std::move(request));
    co_return co_await std::move(handling);
  }
  Response refused(std::string_view path, Response answer) override {
    return connection_.handler_.refused(path, std::move(answer));
  }

 private:
  Connection& connection_;
};

Connection::Connection(Socket socket, std::string peer, Handler& handler, const ServerOptions& options,
                       BodyBudget& bodies)
    : wire_(std::move(socket)),
      peer_(std::move(peer)),
      handler_(handler),
      options_(options),
      bodies_(bodies),
      limits_{options.max_header_bytes,  std::min(options.max_body_bytes, std::max(bodies.limit(), kSmallBody)),
              options.max_upload_bytes,  {options.idle_timeout, 0},
              {options.head_timeout, 0}, options.body_pace} {}

void Connection::start(std::function<void()> on_end) {
  auto done = [self = shared_from_this(), on_end = std::move(on_end)](const std::exception_ptr&) {
    self->ended_ = true;
    self->wire_.close();
    if (self->web_socket_) self->web_socket_->drop();
    self->reader_.reset();
    self->forget_body();
    on_end();
  };
  asio::co_spawn(wire_.socket().get_executor(), serve(),
                 asio::bind_cancellation_slot(cancel_->slot(), std::move(done)));
}

void Connection::finish() {
  closing_ = true;
  if (!busy_) wire_.close();
  if (web_socket_) web_socket_->finish();
}

void Connection::abort() {
  closing_ = true;
  wire_.close();
  // Emitting may destroy the last owner of this object: keep the signal for the call.
  const auto signal = cancel_;
  signal->emit(asio::cancellation_type::terminal);
}

void Connection::hung_up() {
  hung_up_ = true;
  if (busy_ && !ended_) abort();
}

async::Task<void> Connection::serve() {
  try {
    while (!closing_ && co_await serve_one()) {
    }
  } catch (const boost::system::system_error& error) {
    if (error.code() != asio::error::operation_aborted)
      log::error("http", "connection from {}: {}", peer_, error.what());
  }
}

async::Task<bool> Connection::serve_one() {
  request_id_ = RequestId();
  wire_.shrink();
  // Pipelined requests must not occupy the loop.
  if (!wire_.unread().empty()) co_await asio::post(async::use_task);
  reader_.emplace(wire_, limits_);
  const auto head_read = co_await reader_->read_head();
  if (!head_read) {
    const bool worth_an_answer = reader_->started() && head_read.error().code != errc::peer_closed;
    if (worth_an_answer) co_await refuse(head_read.error());
    co_return false;
  }
  std::shared_ptr<ContentDecoder> decoder;
  if (!reader_->done()) {
    auto made = make_decoder();
    if (!made) {
      co_await refuse(made.error());
      co_return false;
    }
    decoder = std::move(*made);
  }
  busy_ = true;
  Request request;
  request.head = std::move(reader_->head());
  const auto sent_id = request.head.headers.get("X-Request-Id");
  const bool named = plain_token(sent_id);
  client_id_.clear();
  if (named && !options_.take_request_ids) client_id_ = sent_id;
  request.id = named && options_.take_request_ids ? RequestId(std::string(sent_id)) : new_request_id();
  request.peer = peer_;
  request_id_ = request.id;
  expects_continue_ = same_name(request.head.headers.get("Expect"), "100-continue");
  if (!reader_->done()) request.body = Body(std::make_unique<RequestBody>(shared_from_this(), std::move(decoder)));
  const bool head_only = request.head.method == "HEAD";
  path_.assign(request.head.path().substr(0, kLongestPath));
  chunks_known_ = reader_->version() >= 11;
  const bool keep_alive = reader_->keep_alive();
  auto asked = asks_for_web_socket(request.head) ? request.head : RequestHead();
  // The client hung up after its request. An answer that is available at once is still sent.
  if (hung_up_) {
    asio::post(wire_.socket().get_executor(), [self = shared_from_this()] { self->hung_up(); });
  }

  auto response = co_await call_handler(std::move(request));
  const bool body_read = co_await drain_body();
  if (response.upgrade && body_read) {
    auto serving = serve_web_socket(std::move(asked), std::move(response));
    co_await std::move(serving);
    co_return false;
  }
  if (response.upgrade) response = Response::text(400, "text/plain", "a request for a WebSocket has no body\n");
  const bool reusable = keep_alive && body_read && !closing_;
  const bool written = co_await write_response(std::move(response), head_only, reusable);
  busy_ = false;
  forget_body();
  if (written && !body_read) co_await linger();
  co_return written&& reusable;
}

Result<std::shared_ptr<ContentDecoder>> Connection::make_decoder() {
  auto& headers = reader_->head().headers;
  const auto codings = content_codings(headers);
  if (!codings) return std::unexpected(codings.error());
  if (codings->empty()) return nullptr;
  const bool form = limits_.form_bytes != 0 && is_form(headers.get("Content-Type"));
  const auto limit = form ? ContentDecoder::Limit{limits_.form_bytes, "max_upload_bytes"}
                          : ContentDecoder::Limit{limits_.body_bytes, "max_body_bytes"};
  // They describe the body as it was sent.
  headers.remove("Content-Encoding");
  headers.remove("Content-Length");
  return std::make_shared<ContentDecoder>(*codings, limit);
}

async::Task<Response> Connection::call_handler(Request request) {
  try {
    co_return co_await handler_.handle(std::move(request));
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) throw;
    log::error("http", "request {}: {}", request_id_.value(), error.what());
  } catch (const std::exception& error) {
    log::error("http", "request {}: {}", request_id_.value(), error.what());
  }
  auto answer = Response::json(
      500,
      R"({"error":{"message":"internal error; the server's log has the details","type":"server_error","code":"internal_error","param":null}})");
  co_return named_refusal(path_, std::move(answer));
}

async::Task<void> Connection::serve_web_socket(RequestHead head, Response response) {
  wire_.set_writing_pace(options_.answer_pace);
  web_socket_ = std::make_shared<ServedWebSocket>(
      wire_, bodies_,
      ServedWebSocket::Limits{
          .message_bytes = limits_.body_bytes, .message_pace = limits_.body, .idle = options_.idle_timeout});
  auto accepting = web_socket_->accept(head, options_.server_name, request_id_.value());
  const bool accepted = co_await std::move(accepting);
  if (!accepted) co_return;
  if (closing_) web_socket_->finish();
  web_socket_->start(shared_from_this(), [this] { abort(); });
  MessageHandler messages(*this);
  auto serving = response.upgrade(*web_socket_, messages);
  co_await std::move(serving);
  auto ending = web_socket_->close();
  co_await std::move(ending);
  co_await linger();
}

// Filters that rewrite it read the id from a header.
Response Connection::named_refusal(std::string_view path, Response answer) {
  answer.head.headers.set("X-Request-Id", request_id_.value());
  return handler_.refused(path, std::move(answer));
}

async::Task<bool> Connection::drain_body() {
  if (reader_->done()) co_return true;
  // The client still waits for permission to send it, or sends unreadable bytes.
  if (expects_continue_ || reader_->failed()) co_return false;
  // The end of a body without a length is unknown: skip only the bytes that are here.
  if (!reader_->content_length()) {
    while (!reader_->done() && !reader_->failed()) {
      if (reader_->ready_piece().empty()) break;
    }
    co_return reader_->done();
  }
  if (*reader_->content_length() > body_bytes_ + kDrainLimit) co_return false;
  std::uint64_t skipped = 0;
  while (!reader_->done()) {
    const auto piece = co_await reader_->read_piece();
    if (!piece) co_return false;
    skipped += piece->size();
    if (skipped > kDrainLimit) co_return false;
  }
  co_return true;
}

std::string Connection::head_text(const Response& response, std::optional<std::uint64_t> length,
                                  bool keep_alive) const {
  std::string head;
  head.reserve(320);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\nServer: {}\r\n", response.head.status,
                 reason_phrase(response.head.status), options_.server_name);
  for (const auto& [name, value] : response.head.headers) {
    if (same_name(name, "Server") || same_name(name, "Content-Length") || same_name(name, "X-Request-Id") ||
        same_name(name, "X-Client-Request-Id") || is_hop_by_hop(name))
      continue;
    head.append(name).append(": ").append(value).append("\r\n");
  }
  // RFC 9110: this status names the protocol, in a field of the connection.
  const bool upgrade = response.head.status == 426;
  if (upgrade) head.append("Upgrade: websocket\r\n");
  if (!request_id_.value().empty()) head.append("X-Request-Id: ").append(request_id_.value()).append("\r\n");
  if (!client_id_.empty()) head.append("X-Client-Request-Id: ").append(client_id_).append("\r\n");
  if (!has_no_body(response.head.status)) {
    if (length) {
      fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", *length);
    } else if (chunks_known_) {
      head.append("Transfer-Encoding: chunked\r\n");
    }
  }
  head.append(keep_alive ? "Connection: keep-alive" : "Connection: close");
  head.append(upgrade ? ", Upgrade\r\n\r\n" : "\r\n\r\n");
  return head;
}

async::Task<bool> Connection::write_response(Response response, bool head_only, bool keep_alive) {
  wire_.set_writing_pace(options_.answer_pace);
  const bool bodiless = head_only || has_no_body(response.head.status);
  if (response.body.streaming() && !bodiless) {
    const auto length = response.body.source()->length();
    auto head = head_text(response, length, keep_alive && (length || chunks_known_));
    co_return co_await write_stream(std::move(head), std::move(response));
  }
  const auto& text = response.body.text();
  const auto length = response.body.streaming() ? response.body.source()->length() : text.size();
  const auto head = head_text(response, length, keep_alive);
  const std::array buffers = {asio::const_buffer(head.data(), head.size()),
                              asio::const_buffer(text.data(), bodiless ? 0 : text.size())};
  const auto written = co_await wire_.write(buffers);
  co_return written.has_value();
}

async::Task<bool> Connection::write_stream(std::string head, Response response) {
  auto& source = *response.body.source();
  const bool chunked = !source.length() && chunks_known_;
  const bool ends_by_close = !source.length() && !chunks_known_;
  std::string lead = std::move(head);  // sent with the next piece
  std::string_view piece = source.take_ready();
  while (true) {
    if (!piece.empty() || !lead.empty()) {
      if (chunked && !piece.empty()) fmt::format_to(std::back_inserter(lead), "{:x}\r\n", piece.size());
      const std::string_view tail = chunked && !piece.empty() ? "\r\n" : "";
      const std::array buffers = {asio::const_buffer(lead.data(), lead.size()),
                                  asio::const_buffer(piece.data(), piece.size()),
                                  asio::const_buffer(tail.data(), tail.size())};
      const auto written = co_await wire_.write(buffers);
      if (!written) co_return false;
      lead.clear();
    }
    const auto next = co_await source.read();
    if (!next) {
      // Nothing valid can follow: closing without the last chunk shows the client that the body is cut.
      log::debug("http", "request {}: body ended early: {}", request_id_.value(), next.error().message);
      co_return false;
    }
    piece = *next;
    if (piece.empty()) break;
  }
  if (!chunked) co_return !ends_by_close;
  static constexpr std::string_view kLastChunk = "0\r\n\r\n";
  const std::array buffers = {asio::const_buffer(kLastChunk.data(), kLastChunk.size())};
  const auto written = co_await wire_.write(buffers);
  co_return written.has_value();
}

async::Task<void> Connection::refuse(const Error& error) {
  const auto body =
      fmt::format(R"({{"error":{{"message":"{}","type":"invalid_request_error","code":"{}","param":null}}}})",
                  error.message, error.code.message());
  request_id_ = new_request_id();
  auto answer = Response::json(status_of(error), body);
  answer.failure = std::make_shared<const Error>(error);
  if (error.code == errc::unsupported_encoding) answer.head.headers.set("Accept-Encoding", kContentCodings);
  auto response = named_refusal(reader_->head().path(), std::move(answer));
  const bool written = co_await write_response(std::move(response), false, false);
  if (written && error.code != errc::timed_out) co_await linger();
}

async::Task<void> Connection::linger() {
  boost::system::error_code ignored;
  wire_.socket().shutdown(Socket::shutdown_send, ignored);
  wire_.set_reading_pace(kLingerPace);
  std::uint64_t skipped = wire_.unread().size();
  wire_.consume(skipped);
  while (skipped < kLingerBytes) {
    const auto filled = co_await wire_.fill();
    if (!filled) co_return;
    skipped += wire_.unread().size();
    wire_.consume(wire_.unread().size());
  }
}

Result<> Connection::count_body(std::uint64_t bytes, std::uint64_t decoder) {
  body_bytes_ += bytes;
  const auto held = (body_passes_by_ ? 0 : body_bytes_) + decoder;
  const auto counted = held <= kSmallBody ? 0 : (held + kBudgetStep - 1) / kBudgetStep * kBudgetStep;
  if (counted > budgeted_ && !bodies_.take(counted - budgeted_)) return std::unexpected(no_room(bodies_));
  if (counted < budgeted_) bodies_.give_back(budgeted_ - counted);
  budgeted_ = counted;
  return {};
}

void Connection::forget_body() {
  bodies_.give_back(std::exchange(budgeted_, 0));
  body_bytes_ = 0;
  body_passes_by_ = false;
}

}  // namespace corral::http
