// One client's connection: reads requests one after another, runs the handler, writes what it returns.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <boost/asio/cancellation_signal.hpp>

#include "http/beast/buffered_socket.h"
#include "http/beast/reader.h"
#include "http/beast/served_web_socket.h"
#include "http/beast/shared_limits.h"
#include "http/content_decoder.h"
#include "http/handler.h"
#include "http/server.h"

namespace corral::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Socket socket, std::string peer, Handler& handler, const ServerOptions& options, BodyBudget& bodies);

  // Serves until the connection ends; then calls `on_end`. Once.
  void start(std::function<void()> on_end);

  // After the current response (or at once when idle) the connection closes.
  void finish();
  // Ends now and cancels the running handler.
  void abort();
  // The client has closed its side and waits for no answer.
  void hung_up();
  void tick(MonoClock::duration passed) { wire_.tick(passed); }
  int native_handle() { return wire_.socket().native_handle(); }

 private:
  class RequestBody;
  class MessageHandler;

  async::Task<void> serve();
  // False when the connection must close after the request.
  async::Task<bool> serve_one();
  async::Task<Response> call_handler(Request request);
  // The rest of the connection, as a WebSocket.
  async::Task<void> serve_web_socket(RequestHead head, Response response);
  async::Task<bool> write_response(Response response, bool head_only, bool keep_alive);
  async::Task<bool> write_stream(std::string head, Response response);
  async::Task<void> refuse(const Error& error);
  Response named_refusal(std::string_view path, Response answer);
  // Skips the rest of the request's body. False: the rest is too long.
  async::Task<bool> drain_body();
  // Lets the client read the answer before the connection ends, while it still sends.
  async::Task<void> linger();
  // The decoder that the head asks for; null: none.
  Result<std::shared_ptr<ContentDecoder>> make_decoder();
  // Counts bytes of the body, and those that its decoder holds at present, against the common limit.
  Result<> count_body(std::uint64_t bytes, std::uint64_t decoder = 0);
  void forget_body();
  std::string head_text(const Response& response, std::optional<std::uint64_t> length, bool keep_alive) const;

  BufferedSocket wire_;
  const std::string peer_;
  Handler& handler_;
  const ServerOptions& options_;
  BodyBudget& bodies_;
  const ReadLimits limits_;
  std::optional<MessageReader<true>> reader_;
  std::shared_ptr<ServedWebSocket> web_socket_;  // null: it isn't one
  std::shared_ptr<asio::cancellation_signal> cancel_ = std::make_shared<asio::cancellation_signal>();
  RequestId request_id_;
  std::string path_;              // of the current request
  std::string client_id_;         // the client's id of the request, if it differs
  std::uint64_t body_bytes_ = 0;  // bytes of the body that were read, decoded
  std::uint64_t budgeted_ = 0;    // bytes that are counted in bodies_
  bool body_passes_by_ = false;   // the body isn't held in memory, so it isn't counted
  bool expects_continue_ = false;
  bool chunks_known_ = true;  // the client uses HTTP/1.1; in HTTP/1.0 a body of unknown length ends by closing
  bool busy_ = false;         // a handler runs, or its answer is being sent
  bool hung_up_ = false;
  bool closing_ = false;  // finish() was called
  bool ended_ = false;
};

}  // namespace corral::http
