// The server's side of a WebSocket, by Boost.Beast. Its library is only in the .cpp: it is costly to compile.
//
// A task reads all the time, so that pings, closes and hang-ups are noticed while the handler works. It ends the
// WebSocket when a message is too large (close code 1009), isn't a text (1003), finds no memory (1013), or is one more
// than kMaxWaiting (1008).
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/task_group.h"
#include "http/beast/buffered_socket.h"
#include "http/beast/shared_limits.h"
#include "http/web_socket.h"

namespace corral::http {

class ServedWebSocket final : public WebSocket, public std::enable_shared_from_this<ServedWebSocket> {
 public:
  struct Limits {
    std::uint64_t message_bytes = 0;
    MinRate message_pace = kNoMinRate;  // of a message that has begun
    std::chrono::milliseconds idle{0};  // a client that answers no pings for this time has gone
  };
  // Both must outlive drop().
  ServedWebSocket(BufferedSocket& wire, BodyBudget& bodies, Limits limits);
  ~ServedWebSocket() override;

  // Answers the request. False: it was rejected, or the client has gone.
  async::Task<bool> accept(const RequestHead& head, std::string server, std::string request_id);
  // Begins to read. `owner` of the wire is kept until reading ends; `gone` is called if the client leaves while the
  // handler works.
  void start(std::shared_ptr<void> owner, std::function<void()> gone);
  // No further message is read; the handler ends after its current one.
  void finish();
  // Says good-bye, and waits for the client's answer some seconds.
  async::Task<void> close();
  // The connection has ended.
  void drop();

  async::Task<Result<std::string>> read() override;
  async::Task<Result<>> write(std::string_view text) override;

 private:
  struct Stream;

  static async::Task<void> read_all(std::shared_ptr<ServedWebSocket> self, std::shared_ptr<void> owner);
  // The next message; nothing: the end.
  async::Task<std::optional<std::string>> receive();
  async::Task<void> end(std::uint16_t code, std::string_view why);
  // Counts bytes that are held against the common limit. False: it is exceeded.
  bool hold(std::uint64_t bytes);
  void let_go(std::uint64_t bytes);

  BufferedSocket& wire_;
  BodyBudget* bodies_;  // null after drop()
  const Limits limits_;
  std::unique_ptr<Stream> stream_;
  std::array<char, 16384> chunk_ = {};
  std::deque<std::string> waiting_;
  async::Event ready_;  // a message waits, or the end has come
  std::function<void()> gone_;
  std::uint64_t held_ = 0;      // bytes of all messages here
  std::uint64_t budgeted_ = 0;  // bytes that are counted in bodies_
  std::uint64_t handled_ = 0;   // bytes of the message that the handler got last
  bool reading_ = false;        // the handler waits for a message
  bool ended_ = false;          // nothing more will be received
  bool closing_ = false;        // the close was sent, or waits for its turn
  bool finishing_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::http
