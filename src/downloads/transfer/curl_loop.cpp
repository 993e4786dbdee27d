#include "downloads/transfer/curl_loop.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "async/event.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "downloads/hub/hub_answers.h"

namespace corral::downloads {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMaxHead = 64 << 10;   // bytes of the headers of one response
constexpr std::size_t kMaxError = 16 << 10;  // kept bytes of the body of a failure
constexpr long kReadBuffer = 256 << 10;

struct Transfer {
  Transfer(async::Executor executor, async::Timers& clock, FetchRequest& asked)
      : timers(clock), request(asked), done(executor), last_byte(clock.now()) {}

  async::Timers& timers;
  FetchRequest& request;
  FetchAnswer answer;
  async::Event done;
  MonoTime last_byte;  // time of the last byte
  CURLcode result = CURLE_OK;
  std::size_t head_bytes = 0;
  bool enough = false, refused = false, too_large = false;
  const std::function<bool(const asio::ip::address&)>* may_connect = nullptr;
  bool address_refused = false;
  std::array<char, CURL_ERROR_SIZE> text{};
};

// Callbacks of libcurl; an exception must not pass through it.
std::size_t on_header(const char* data, std::size_t, std::size_t size, void* context) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(context);
  transfer.last_byte = transfer.timers.now();
  std::string_view line(data, size);
  FetchHead& head = transfer.answer.head;
  if (line.starts_with("HTTP/")) {  // a new response begins: of a redirect, or after "100 Continue"
    head.fields.clear();
    transfer.head_bytes = 0;
  }
  transfer.head_bytes += size;
  if (transfer.head_bytes > kMaxHead) {
    transfer.too_large = true;
    return 0;
  }
  const auto colon = line.find(':');
  if (colon == line.npos) return size;
  std::string name(line.substr(0, colon));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  head.fields.insert_or_assign(std::move(name),
                               std::string(trimmed_front(trimmed_back(line.substr(colon + 1), " \r\n"), " ")));
  return size;
}

std::optional<asio::ip::address> address_of(const sockaddr& from) {
  if (from.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &from, sizeof in);
    return asio::ip::address_v4(ntohl(in.sin_addr.s_addr));
  }
  if (from.sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in{};
  std::memcpy(&in, &from, sizeof in);
  asio::ip::address_v6::bytes_type bytes;
  std::memcpy(bytes.data(), in.sin6_addr.s6_addr, bytes.size());
  return asio::ip::address_v6(bytes);
}

// Called with the resolved address that libcurl is about to connect to, so a name can't change its meaning in between.
curl_socket_t open_socket(void* context, curlsocktype, curl_sockaddr* to) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(context);
  const auto address = address_of(to->addr);
  if (!address || !(*transfer.may_connect)(*address)) {
    transfer.address_refused = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

void read_status(CURL* easy, std::string_view requested, FetchHead& head) {
  long status = 0, redirects = 0;
  const char* url = nullptr;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy, CURLINFO_REDIRECT_COUNT, &redirects);
  curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
  head.status = static_cast<int>(status);
  head.elsewhere = redirects > 0 && url != nullptr && origin_of(url) != origin_of(requested);
}

// Whether the last head belongs to a redirect that libcurl followed: then there is no head of the final response.
bool without_answer(const FetchHead& head, CURLcode result, bool stalled) {
  if (head.status < 300 || head.status >= 400) return false;
  if (stalled) return true;
  return result != CURLE_OK && result != CURLE_TOO_MANY_REDIRECTS && result != CURLE_UNSUPPORTED_PROTOCOL;
}

Fault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return Fault::none;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return Fault::no_connect;
    case CURLE_OPERATION_TIMEDOUT:
      return Fault::stalled;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return Fault::bad_tls;
    default:
      return Fault::broken;
  }
}

}  // namespace

struct CurlLoop::Impl {
  using Descriptor = asio::posix::basic_stream_descriptor<async::Executor>;
  using Timer = asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                                           async::Executor>;

  Impl(async::Executor executor_, async::Timers& timers_, CurlOptions options_)
      : executor(executor_), timers(timers_), options(std::move(options_)), polled(executor_), alarm(executor_) {}

  void begin(const std::shared_ptr<Impl>& self) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::runtime_error("libcurl cannot start");
    multi = curl_multi_init();
    const int fd = ::epoll_create1(EPOLL_CLOEXEC);
    if (!multi || fd < 0) {
      if (multi) curl_multi_cleanup(multi);
      throw std::runtime_error("libcurl cannot start");
    }
    polled.assign(fd);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &Impl::on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &Impl::on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 16L);
    me = self;
  }

  void end() {
    ended = true;
    boost::system::error_code ignored;
    polled.cancel(ignored);
    alarm.cancel();
    curl_multi_cleanup(multi);
    polled.close(ignored);
    curl_global_cleanup();
  }

  // All sockets of libcurl are in one epoll set, and the loop waits for its descriptor. A socket that libcurl closes
  // leaves the set automatically.
  static int on_socket(CURL*, curl_socket_t socket, int what, void* context, void*) noexcept {
    Impl& impl = *static_cast<Impl*>(context);
    if (impl.ended) return 0;
    epoll_event event{};
    event.data.fd = socket;
    if (what == CURL_POLL_REMOVE) {
      ::epoll_ctl(impl.polled.native_handle(), EPOLL_CTL_DEL, socket, nullptr);
      return 0;
    }
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (::epoll_ctl(impl.polled.native_handle(), EPOLL_CTL_MOD, socket, &event) != 0 && errno == ENOENT)
      ::epoll_ctl(impl.polled.native_handle(), EPOLL_CTL_ADD, socket, &event);
    return 0;
  }

  static int on_timer(CURLM*, long millis, void* context) noexcept {
    Impl& impl = *static_cast<Impl*>(context);
    if (impl.ended) return 0;
    impl.alarm.cancel();
    if (millis < 0) return 0;
    impl.alarm.expires_after(std::chrono::milliseconds(millis));
    impl.alarm.async_wait([weak = impl.me](boost::system::error_code failure) {
      const auto self = weak.lock();
      if (!failure && self && !self->ended) self->act(CURL_SOCKET_TIMEOUT, 0);
    });
    return 0;
  }

  static std::size_t on_body(const char* data, std::size_t, std::size_t size, void* context) noexcept {
    auto& [transfer, easy] = *static_cast<std::pair<Transfer&, CURL*>*>(context);
    transfer.last_byte = transfer.timers.now();
    FetchAnswer& answer = transfer.answer;
    read_status(easy, transfer.request.url, answer.head);
    const std::string_view bytes(data, size);
    const bool good = answer.head.status == 200 || answer.head.status == 206;
    if (good && transfer.request.sink) {
      const Take taken = transfer.request.sink(answer.head, bytes);
      transfer.enough = taken == Take::enough;
      transfer.refused = taken == Take::failed;
      return taken == Take::more ? size : 0;
    }
    if (!good) {
      answer.body.append(bytes.substr(0, kMaxError - std::min(kMaxError, answer.body.size())));
      return size;
    }
    if (answer.body.size() + size > transfer.request.max_body) {
      transfer.too_large = true;
      return 0;
    }
    answer.body.append(bytes);
    return size;
  }

  // Runs while there are transfers. One waiter at a time.
  void wait() {
    if (waiting || running == 0) return;
    waiting = true;
    polled.async_wait(Descriptor::wait_read, [weak = me](boost::system::error_code failure) {
      const auto self = weak.lock();
      if (!self || self->ended) return;
      self->waiting = false;
      if (!failure) self->serve();
      self->wait();
    });
  }

  void serve() {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(polled.native_handle(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      int what = 0;
      if (event.events & (EPOLLIN | EPOLLHUP)) what |= CURL_CSELECT_IN;
      if (event.events & EPOLLOUT) what |= CURL_CSELECT_OUT;
      if (event.events & EPOLLERR) what |= CURL_CSELECT_ERR;
      act(event.data.fd, what);
    }
  }

  void act(curl_socket_t socket, int what) {
    int left = 0;
    curl_multi_socket_action(multi, socket, what, &left);
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      char* context = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &context);
      auto& transfer = *reinterpret_cast<Transfer*>(context);
      transfer.result = message->data.result;
      transfer.done.set();
    }
  }

  const async::Executor executor;
  async::Timers& timers;
  const CurlOptions options;
  CURLM* multi = nullptr;
  Descriptor polled;
  Timer alarm;
  std::weak_ptr<Impl> me;
  std::size_t running = 0;
  bool waiting = false, ended = false;
};

namespace {

async::Task<bool> until_done(Transfer& transfer) {
  co_await transfer.done.wait();
  co_return true;
}

// One easy handle with everything that it refers to.
struct Handle {
  CURL* easy = curl_easy_init();
  curl_slist* fields = nullptr;

  Handle() {
    if (!easy) throw std::runtime_error("libcurl returned no handle");
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(fields);
  }

  template <typename T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(easy, option, value);
  }
  void add_field(const std::string& line) { fields = curl_slist_append(fields, line.c_str()); }
};

void prepare(Handle& handle, Transfer& transfer, const CurlOptions& options) {
  const FetchRequest& request = transfer.request;
  handle.set(CURLOPT_URL, request.url.c_str());
  handle.set(CURLOPT_PROTOCOLS_STR, "http,https");
  handle.set(CURLOPT_REDIR_PROTOCOLS_STR, request.url.starts_with("https:") ? "https" : "http,https");
  handle.set(CURLOPT_FOLLOWLOCATION, 1L);
  handle.set(CURLOPT_MAXREDIRS, options.max_redirects);
  if (options.deadline.count() > 0) handle.set(CURLOPT_TIMEOUT_MS, static_cast<long>(options.deadline.count()));
  handle.set(CURLOPT_NOSIGNAL, 1L);
  handle.set(CURLOPT_QUICK_EXIT, 1L);  // don't wait for the resolver when a transfer is cancelled
  // Parallel ranges have separate connections, each with its share of the bandwidth.
  handle.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  handle.set(CURLOPT_BUFFERSIZE, kReadBuffer);
  handle.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect.count()));
  handle.set(CURLOPT_USERAGENT, options.user_agent.c_str());
  handle.set(CURLOPT_ERRORBUFFER, transfer.text.data());
  handle.set(CURLOPT_PRIVATE, &transfer);
  handle.set(CURLOPT_HEADERFUNCTION, &on_header);
  handle.set(CURLOPT_HEADERDATA, &transfer);
  if (!options.ca_file.empty()) handle.set(CURLOPT_CAINFO, options.ca_file.c_str());
  if (options.proxy) handle.set(CURLOPT_PROXY, options.proxy->c_str());
  if (options.may_connect) {
    transfer.may_connect = &options.may_connect;
    handle.set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
    handle.set(CURLOPT_OPENSOCKETDATA, &transfer);
  }
  if (request.head_only) handle.set(CURLOPT_NOBODY, 1L);
  if (request.fresh_connection) handle.set(CURLOPT_FRESH_CONNECT, 1L);
  if (request.range) {
    const std::string range = fmt::format("{}-{}", request.range->begin, request.range->end - 1);
    handle.set(CURLOPT_RANGE, range.c_str());
  }
  // Stored bytes must be the hashed ones: no compression in between.
  handle.add_field("Accept-Encoding: identity");
  if (request.accept) handle.add_field(fmt::format("Accept: {}", *request.accept));
  // libcurl omits it if a redirect leads to another host or port.
  if (!request.token.empty()) handle.add_field(fmt::format("Authorization: Bearer {}", request.token));
  handle.set(CURLOPT_HTTPHEADER, handle.fields);
}

}  // namespace

CurlLoop::CurlLoop(async::Executor executor, async::Timers& timers, CurlOptions options)
    : impl_(std::make_shared<Impl>(executor, timers, std::move(options))) {
  impl_->begin(impl_);
}

CurlLoop::~CurlLoop() { impl_->end(); }

async::Task<FetchAnswer> CurlLoop::fetch(FetchRequest request) {
  const std::shared_ptr<Impl> impl = impl_;
  Transfer transfer(impl->executor, impl->timers, request);
  Handle handle;
  std::pair<Transfer&, CURL*> body_context(transfer, handle.easy);
  prepare(handle, transfer, impl->options);
  handle.set(CURLOPT_WRITEFUNCTION, &Impl::on_body);
  handle.set(CURLOPT_WRITEDATA, &body_context);

  struct Running {
    Impl& impl;
    CURL* easy;
    Running(Impl& owner, CURL* which) : impl(owner), easy(which) {
      ++impl.running;
      curl_multi_add_handle(impl.multi, easy);
      impl.wait();
    }
    ~Running() {
      if (!impl.ended) curl_multi_remove_handle(impl.multi, easy);
      if (--impl.running == 0) {
        boost::system::error_code ignored;
        impl.polled.cancel(ignored);
      }
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };
  bool stalled = false;
  {
    const Running running(*impl, handle.easy);
    while (!transfer.done.is_set() && !stalled) {
      const MonoTime deadline = transfer.last_byte + impl->options.stall;
      auto waiting = until_done(transfer);
      const auto left = deadline - impl->timers.now();
      const auto ended = co_await async::with_timeout(impl->timers, left, std::move(waiting));
      stalled = !ended && !transfer.done.is_set() && impl->timers.now() >= transfer.last_byte + impl->options.stall;
    }
    read_status(handle.easy, request.url, transfer.answer.head);
    if (FetchHead& head = transfer.answer.head; without_answer(head, transfer.result, stalled)) {
      head.status = 0;
      head.fields.clear();
    }
  }
  FetchAnswer answer = std::move(transfer.answer);
  if (stalled) {
    answer.fault = Fault::stalled;
    answer.detail = fmt::format("no data for {} s", static_cast<double>(impl->options.stall.count()) / 1000);
  } else if (transfer.refused) {
    answer.fault = Fault::not_taken;
  } else if (transfer.too_large) {
    answer.fault = Fault::too_large;
    answer.detail = fmt::format("more than {} bytes", request.max_body);
  } else if (!transfer.enough) {
    answer.fault = fault_of(transfer.result);
    answer.detail = transfer.text[0] ? transfer.text.data() : curl_easy_strerror(transfer.result);
    answer.address_refused = transfer.address_refused && answer.fault != Fault::none;
    answer.too_many_redirects = transfer.result == CURLE_TOO_MANY_REDIRECTS;
  }
  co_return answer;
}

}  // namespace corral::downloads
