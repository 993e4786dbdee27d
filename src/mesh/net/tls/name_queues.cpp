#include "mesh/net/tls/name_queues.h"

#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <set>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <netdb.h>

#include "async/event.h"
#include "async/offload.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

namespace asio = async::asio;
using async::Task;
using Tcp = asio::ip::tcp;

constexpr std::size_t kMaxEndpoints = 8;  // of one name
constexpr std::size_t kMaxSlow = 1024;    // remembered slow names

// The state of a waiting caller; used on its loop only, except the flag.
struct Question {
  explicit Question(async::Executor executor) : done(executor) {}
  async::Event done;
  FoundName found;
  const std::shared_ptr<std::atomic<bool>> unwanted = std::make_shared<std::atomic<bool>>(false);
};

// Counts a job while it waits in the queue or runs.
class Counted {
 public:
  explicit Counted(std::shared_ptr<std::atomic<std::size_t>> count) : count_(std::move(count)) { ++*count_; }
  Counted(Counted&&) = default;
  Counted& operator=(Counted&&) = delete;
  ~Counted() {
    if (count_) --*count_;
  }

 private:
  std::shared_ptr<std::atomic<std::size_t>> count_;
};

class NameQueues final : public asio::execution_context::service {
 public:
  static asio::execution_context::id id;  // NOLINT(readability-identifier-naming): Asio looks for it
  explicit NameQueues(asio::execution_context& context) : service(context) {}

  // On the loop. False: too many wait already.
  bool ask(const Place& place, LookUp look_up, const std::shared_ptr<Question>& question, async::Executor home) {
    auto& queue = queues_[static_cast<std::size_t>(place_in_queues(place))];
    if (*queue.open >= kMaxNames) return false;
    if (!queue.thread) queue.thread.emplace(1);
    auto job = [this, home, address = place.address, look_up = std::move(look_up), unwanted = question->unwanted,
                asking = std::weak_ptr(question), counted = Counted(queue.open)] {
      if (*unwanted) return;
      auto answer = [this, asking, host = address.host, found = look_up(address)]() mutable {
        note(host, found.took);
        const auto waiting = asking.lock();
        if (!waiting) return;
        waiting->found = std::move(found);
        waiting->done.set();
      };
      asio::post(home, std::move(answer));
    };
    queue.thread->post(std::move(job));
    return true;
  }

 private:
  struct Queue {
    std::shared_ptr<std::atomic<std::size_t>> open = std::make_shared<std::atomic<std::size_t>>(0);
    std::optional<async::ThreadPool> thread;
  };

  void shutdown() override {
    for (auto& queue : queues_) queue.thread.reset();
  }
  Origin place_in_queues(const Place& place) const {
    return place.origin == Origin::link && slow_.contains(place.address.host) ? Origin::other : place.origin;
  }
  void note(const std::string& host, Millis took) {
    if (took < kSlowName) {
      slow_.erase(host);
    } else {
      if (slow_.size() >= kMaxSlow) slow_.clear();
      slow_.insert(host);
    }
  }

  std::array<Queue, kOrigins> queues_;
  std::set<std::string> slow_;
};
asio::execution_context::id NameQueues::id;

}  // namespace

FoundName ask_system(const Address& address) {
  FoundName found;
  const auto begun = MonoClock::now();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  found.took = std::chrono::duration_cast<Millis>(MonoClock::now() - begun);
  if (failed != 0) {
    found.problem = ::gai_strerror(failed);
    return found;
  }
  for (const auto* entry = list; entry != nullptr && found.endpoints.size() < kMaxEndpoints; entry = entry->ai_next) {
    Tcp::endpoint endpoint;
    if (entry->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), entry->ai_addr, entry->ai_addrlen);
    endpoint.resize(entry->ai_addrlen);
    found.endpoints.push_back(endpoint);
  }
  ::freeaddrinfo(list);
  return found;
}

Task<Result<Endpoints>> find_endpoints(Place place, LookUp look_up) {
  boost::system::error_code error;
  const auto literal = asio::ip::make_address(place.address.host, error);
  if (!error) co_return Endpoints{Tcp::endpoint(literal, place.address.port)};
  const auto executor = co_await asio::this_coro::executor;
  auto& queues = asio::use_service<NameQueues>(static_cast<asio::execution_context&>(executor.context()));
  struct Asked {
    ~Asked() { *question->unwanted = true; }
    std::shared_ptr<Question> question;
  };
  const Asked asked{std::make_shared<Question>(executor)};
  if (!queues.ask(place, std::move(look_up), asked.question, executor)) {
    co_return fail(errc::unreachable, "too many names are being resolved: try again");
  }
  co_await asked.question->done.wait();
  auto& found = asked.question->found;
  if (found.endpoints.empty()) {
    co_return fail(errc::unreachable, fmt::format("can't resolve '{}': {}", place.address.host, found.problem));
  }
  co_return std::move(found.endpoints);
}

}  // namespace corral::mesh
