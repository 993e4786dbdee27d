// A hub on the loopback, on the loop of the test, with faults on command: two servers with the hub's protocol. The
// second one has the files, behind signed URLs.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/secret.h"
#include "base/sha256.h"

namespace corral::downloads {

enum class Trouble : std::uint8_t {
  none,
  cut,          // half of the bytes, then the connection ends
  stall,        // half of the bytes, then silence
  whole,        // 200 with the whole file for a range
  wrong_bytes,  // one byte is wrong
  wrong_size,   // reports a larger file
  expired,      // 403 by the server of the files
  beyond,       // 416
  busy,         // 429
  broken,       // 500
  hang_up,      // the connection ends without a response
  endless,      // the range, then surplus bytes
};

class HubForTests {
 public:
  using Socket = async::asio::basic_stream_socket<async::asio::ip::tcp, async::Executor>;
  using Acceptor = async::asio::basic_socket_acceptor<async::asio::ip::tcp, async::Executor>;

  explicit HubForTests(async::Executor executor)
      : tasks_(executor),
        stall_(executor),
        api_(executor, {async::asio::ip::make_address("127.0.0.1"), 0}),
        files_(executor, {async::asio::ip::make_address("127.0.0.1"), 0}) {
    tasks_.spawn("hub", accept(api_, true));
    tasks_.spawn("files", accept(files_, false));
  }

  async::Task<void> stop() {
    tasks_.cancel();
    co_await tasks_.join();
  }

  std::string endpoint() const { return fmt::format("http://127.0.0.1:{}", api_.local_endpoint().port()); }
  std::string files_endpoint() const { return fmt::format("http://127.0.0.1:{}", files_.local_endpoint().port()); }
  void add(const std::string& path, std::string content) { content_[path] = std::move(content); }
  static std::string oid_of(const std::string& content) { return to_hex(sha256({content})); }

  const std::string repo = "org/repo", commit = std::string(40, '7');
  std::string gated_code;                                           // X-Error-Code of a 403 for the whole repository
  std::function<Trouble()> trouble = [] { return Trouble::none; };  // for each response with a file
  std::size_t page = 1000;                                          // entries of a list
  std::vector<std::string> requests;                                // of the hub: first lines
  std::vector<std::string> tokens_elsewhere;                        // tokens that the server of the files got
  std::uint64_t sent = 0;                                           // bytes of files
  int stalled = 0;
  // Returns when this many responses have stalled.
  async::Task<void> until_stalled(int count) {
    while (stalled < count) {
      stall_.reset();
      co_await stall_.wait();
    }
  }
  bool all_surplus_taken = false;

 private:
  async::Task<void> accept(Acceptor& acceptor, bool api) {
    while (true) {
      auto [failure, socket] = co_await acceptor.async_accept(async::as_value);
      if (failure) co_return;
      tasks_.spawn("client", serve(std::move(socket), api));
    }
  }

  static std::string field(std::string_view head, std::string_view name) {
    const auto at = head.find(fmt::format("\r\n{}: ", name));
    if (at == head.npos) return {};
    head.remove_prefix(at + 4 + name.size());
    return std::string(head.substr(0, head.find("\r\n")));
  }

  async::Task<void> serve(Socket socket, bool api) {
    std::string buffer;
    while (true) {
      const auto into = async::asio::dynamic_buffer(buffer, 65536);
      auto [failure, size] = co_await async::asio::async_read_until(socket, into, "\r\n\r\n", async::as_value);
      if (failure) co_return;
      const std::string head = buffer.substr(0, size);
      buffer.erase(0, size);
      const std::string target = head.substr(4, head.find(' ', 4) - 4);
      bool stay = true;
      if (api) {
        requests.push_back(target);
        const std::string answer = answer_api(target);
        auto [broken, written] =
            co_await async::asio::async_write(socket, async::asio::buffer(answer), async::as_value);
        stay = !broken;
      } else {
        if (const auto token = field(head, "Authorization"); !token.empty()) tokens_elsewhere.push_back(token);
        stay = co_await send_file(socket, target, field(head, "Range"));
      }
      if (!stay) co_return;
    }
  }

  static std::string plain(std::string_view status, std::string_view fields, std::string_view body) {
    return fmt::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\n\r\n{}", status, fields, body.size(), body);
  }

  std::string answer_api(const std::string& target) {
    if (!gated_code.empty()) return plain("403 No", fmt::format("X-Error-Code: {}\r\n", gated_code), "no");
    const std::string api = "/api/models/" + repo;
    if (target == api + "/revision/main") return plain("200 OK", "", fmt::format(R"({{"sha":"{}"}})", commit));
    if (target.starts_with(api + "/revision/")) return plain("404 No", "X-Error-Code: RevisionNotFound\r\n", "no");
    if (target.starts_with(api + "/tree/" + commit)) return tree(target);
    const std::string resolve = fmt::format("/{}/resolve/{}/", repo, commit);
    if (target.starts_with(resolve) && content_.contains(target.substr(resolve.size()))) {
      const std::string path = target.substr(resolve.size());
      return plain("302 Found", fmt::format("Location: {}/{}?signed\r\n", files_endpoint(), path), "over there");
    }
    return plain("404 No", "X-Error-Code: RepoNotFound\r\n", "no");
  }

  std::string tree(const std::string& target) {
    const auto cursor = target.find("&cursor=");
    std::size_t at = cursor == target.npos ? 0 : std::stoul(target.substr(cursor + 8));
    std::string body = "[";
    std::size_t index = 0;
    for (const auto& [path, content] : content_) {
      if (index >= at && index < at + page)
        body += fmt::format(R"({}{{"type":"file","path":"{}","size":1,"oid":"x","lfs":{{"oid":"{}","size":{}}}}})",
                            body.size() > 1 ? "," : "", path, oid_of(content), content.size());
      ++index;
    }
    body += "]";
    std::string link;
    if (at + page < content_.size())
      link = fmt::format("Link: <{}{}&cursor={}>; rel=\"next\"\r\n", endpoint(), target.substr(0, cursor), at + page);
    return plain("200 OK", link, body);
  }

  async::Task<bool> send_file(Socket& socket, const std::string& target, const std::string& range) {
    const std::string content = content_[target.substr(1, target.find('?') - 1)];
    std::uint64_t begin = 0, end = content.size(), total = content.size();
    if (range.starts_with("bytes=")) {
      const auto dash = range.find('-');
      std::from_chars(range.data() + 6, range.data() + dash, begin);
      std::from_chars(range.data() + dash + 1, range.data() + range.size(), end);
      end = std::min<std::uint64_t>(end + 1, content.size());
    }
    const Trouble what = trouble();
    std::string answer;
    if (what == Trouble::expired) answer = plain("403 Expired", "", "expired");
    if (what == Trouble::busy) answer = plain("429 Busy", "Retry-After: 0\r\n", "busy");
    if (what == Trouble::broken) answer = plain("500 Broken", "", "broken");
    if (what == Trouble::beyond) answer = plain("416 Beyond", fmt::format("Content-Range: bytes */{}\r\n", total), "");
    if (what == Trouble::hang_up) co_return false;
    if (!answer.empty()) {
      auto [failure, size] = co_await async::asio::async_write(socket, async::asio::buffer(answer), async::as_value);
      co_return !failure;
    }
    const bool whole = what == Trouble::whole || range.empty();
    if (whole) begin = 0, end = total;
    std::string body = content.substr(begin, end - begin);
    if (what == Trouble::wrong_bytes && !body.empty()) body[body.size() / 2] ^= 1;
    if (what == Trouble::wrong_size) total += 7;
    constexpr std::size_t kSurplus = 64 << 20;
    answer = whole
                 ? fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.size())
                 : fmt::format("HTTP/1.1 206 Some\r\nContent-Range: bytes {}-{}/{}\r\nContent-Length: {}\r\n\r\n",
                               begin, end - 1, total, what == Trouble::endless ? body.size() + kSurplus : body.size());
    const bool half = what == Trouble::cut || what == Trouble::stall;
    answer += half ? body.substr(0, body.size() / 2) : body;
    sent += half ? body.size() / 2 : body.size();
    auto [failure, size] = co_await async::asio::async_write(socket, async::asio::buffer(answer), async::as_value);
    if (what == Trouble::endless) {
      const std::string surplus(1 << 20, 'x');
      for (std::size_t left = kSurplus; !failure && left > 0; left -= surplus.size()) {
        auto [broken, ignored] =
            co_await async::asio::async_write(socket, async::asio::buffer(surplus), async::as_value);
        failure = broken;
      }
      all_surplus_taken = !failure;
      co_return false;
    }
    if (what == Trouble::stall) {
      ++stalled;
      stall_.set();
      std::string more;  // until the client disconnects
      const auto into = async::asio::dynamic_buffer(more);
      co_await async::asio::async_read_until(socket, into, '\0', async::as_value);
      co_return false;
    }
    co_return !failure && !half;
  }

  std::map<std::string, std::string> content_;
  async::TaskGroup tasks_;
  async::Event stall_;
  Acceptor api_, files_;
};

}  // namespace corral::downloads
