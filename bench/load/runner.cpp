#include "runner.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace corral::bench {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

UniqueFd connect_tcp(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) socket.reset();
  return socket;
}

UniqueFd connect_unix(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) socket.reset();
  return socket;
}

// Empty, with errno, when nobody takes the connection.
UniqueFd connect_to(const Job& job) { return job.socket.empty() ? connect_tcp(job.port) : connect_unix(job.socket); }

bool is_immediate(const Request& request) { return request.at <= 0 && request.after_events == 0; }

std::string message_of(const Request& request) {
  return "POST " + request.path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(request.body.size()) + "\r\n\r\n" + request.body;
}

}  // namespace

Runner::Runner(const Job& job) : job_(job), epoll_(::epoll_create1(EPOLL_CLOEXEC)), buffer_(kReadBytes) {
  streams_.reserve(job.requests.size());
  for (const auto& request : job.requests) {
    auto& stream = streams_.emplace_back(request);
    stream.outcome.name = request.name;
    stream.unsent = message_of(request);
    if (!request.background) ++awaited_;
  }
}

double Runner::now() const { return std::chrono::duration<double>(MonoClock::now() - begin_).count(); }

std::vector<Outcome> Runner::run() {
  // Those that start together are connected before the clock runs.
  const std::size_t together = job_.at_once == 0 ? streams_.size() : std::min(job_.at_once, streams_.size());
  for (std::size_t i = 0; i < together && is_immediate(job_.requests[i]); ++i) streams_[i].socket = connect_to(job_);
  const double cpu_before = cpu_seconds();
  begin_ = MonoClock::now();
  std::array<epoll_event, 64> ready;
  while (awaited_ > 0 && now() < job_.seconds) {
    start_due();
    if (awaited_ == 0) break;
    const int count = ::epoll_wait(epoll_.get(), ready.data(), ready.size(), patience());
    for (int i = 0; i < count; ++i) {
      auto& stream = *static_cast<Stream*>(ready[i].data.ptr);
      if (!stream.unsent.empty()) {
        send_more(stream);
      } else {
        receive(stream);
      }
    }
  }
  cost_.seconds = now();
  cost_.cpu_seconds = cpu_seconds() - cpu_before;

  std::vector<Outcome> outcomes;
  for (auto& stream : streams_) {
    cost_.events += stream.answer.events().size();
    auto& outcome = stream.outcome;
    if (outcome.error.empty()) read_answer(stream.answer, outcome);
    if (outcome.error.empty() && outcome.ended < 0 && !stream.request.background) {
      outcome.error = "not ended after " + std::to_string(std::lround(cost_.seconds)) + " s";
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

bool Runner::next_is_due() const {
  if (next_ == streams_.size()) return false;
  const Request& request = streams_[next_].request;
  if (now() < request.at || (job_.at_once != 0 && under_way_ == job_.at_once)) return false;
  return std::all_of(streams_.begin(), streams_.begin() + static_cast<std::ptrdiff_t>(next_),
                     [&](const Stream& earlier) { return earlier.answer.events().size() >= request.after_events; });
}

void Runner::start_due() {
  while (next_is_due()) start(streams_[next_++]);
}

// How long epoll may wait, in milliseconds: to the next start that only time brings about, or to the end of the run.
int Runner::patience() const {
  double until = job_.seconds;
  if (next_ < streams_.size() && streams_[next_].request.at > now())
    until = std::min(until, streams_[next_].request.at);
  return static_cast<int>(std::ceil(std::max(0.0, until - now()) * 1000));
}

void Runner::start(Stream& stream) {
  ++under_way_;
  stream.outcome.began = now();
  if (!stream.socket) stream.socket = connect_to(job_);
  if (!stream.socket) return end(stream, "no connection: " + std::string(std::strerror(errno)));
  watch(stream, EPOLL_CTL_ADD);
  send_more(stream);
}

// Writing while something is unsent, then reading; a client that never reads waits for nothing any more.
void Runner::watch(Stream& stream, int operation) {
  epoll_event event{};
  event.events = !stream.unsent.empty() ? EPOLLOUT : stream.request.read ? EPOLLIN : 0;
  event.data.ptr = &stream;
  ::epoll_ctl(epoll_.get(), operation, stream.socket.get(), &event);
}

void Runner::send_more(Stream& stream) {
  const auto count =
      ::send(stream.socket.get(), stream.unsent.data(), stream.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) end(stream, "sending: " + std::string(std::strerror(errno)));
    return;
  }
  stream.unsent.erase(0, static_cast<std::size_t>(count));
  if (stream.unsent.empty()) watch(stream, EPOLL_CTL_MOD);
}

void Runner::receive(Stream& stream) {
  const auto count = ::recv(stream.socket.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) end(stream, "receiving: " + std::string(std::strerror(errno)));
    return;
  }
  if (count == 0) {
    stream.answer.feed_end();
    return end(stream, stream.answer.ended() ? "" : "the connection was closed before the end of the answer");
  }
  const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(count));
  if (!stream.answer.feed(bytes, now())) return end(stream, "an answer that is no HTTP");
  if (stream.answer.ended()) end(stream, "");
}

void Runner::end(Stream& stream, std::string error) {
  stream.outcome.ended = now();
  stream.outcome.error = std::move(error);
  stream.socket.reset();  // epoll forgets it with this
  --under_way_;
  if (!stream.request.background) --awaited_;
}

}  // namespace corral::bench
