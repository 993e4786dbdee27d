#include "router/instances/request_checks.h"

#include <fmt/format.h>

#include "base/log.h"
#include "protocol/client_tag.h"
#include "protocol/http_error.h"
#include "router/base/errors.h"

namespace corral::router {
namespace {

// A request that takes longer is left to the engine.
constexpr Millis kCheckPatience{10'000};
constexpr Millis kIdle{60'000};  // then the process ends
constexpr std::uint64_t kLargestAnswer = 1 << 20;

// Includes the model's files: a replaced file has another vocabulary.
std::string key_of(const LoadSpec& spec) {
  auto key = fmt::format("{}|{}", spec.name.value(), spec.options);
  for (const auto& stamp : spec.model->stamps) key += fmt::format("|{}#{}#{}", stamp.inode, stamp.size, stamp.modified);
  return key;
}

struct Answered {
  unsigned status = 0;
  std::string body;
};

Result<> verdict(const Answered& answer) {
  if (answer.status < 400 || answer.status >= 500) return {};  // kNothingWrong, or the process is too busy
  Error error = protocol::parse_error_body(answer.status, answer.body);
  error.facts = RefusedRequest{answer.status, answer.body};
  return std::unexpected(std::move(error));
}

}  // namespace

struct RequestChecks::Checker {
  Checker(async::Executor executor, std::string its_key, std::unique_ptr<backends::WrappedServer> its_server)
      : key(std::move(its_key)), server(std::move(its_server)), started(executor) {}

  async::Task<Result<Answered>> ask(async::Executor executor, const AskedRequest& asked) {
    http::RequestHead head{"POST", std::string(protocol::row_of(asked.ask).path), {}};
    head.headers.add("Content-Type", "application/json");
    head.headers.add(protocol::kClientTag, asked.client);
    auto answer = co_await server->target(executor).send(head, asked.body);
    if (!answer) co_return std::unexpected(answer.error());
    auto body = co_await answer->body.read_all(kLargestAnswer);
    if (!body) co_return std::unexpected(body.error());
    co_return Answered{answer->head.status, std::move(*body)};
  }

  const std::string key;
  const std::unique_ptr<backends::WrappedServer> server;
  async::Event started;  // or the start failed
  bool ready = false;
  std::uint64_t answers = 0;
  std::uint64_t asking = 0;  // requests
};

struct RequestChecks::Asking {
  explicit Asking(Checker& its) : checker(its) { ++checker.asking; }
  ~Asking() { --checker.asking; }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  Checker& checker;
};

RequestChecks::CheckerPtr RequestChecks::checker_for(const LoadSpec& spec) {
  auto key = key_of(spec);
  if (latest_ && latest_->key == key) return latest_;
  if (latest_ && (!latest_->started.is_set() || latest_->asking > 0)) return nullptr;
  auto server = spec.backend->create_checker(spec.model, spec.load_options);
  if (!server) return nullptr;
  latest_ = std::make_shared<Checker>(home_, std::move(key), std::move(server));
  tasks_.spawn("checker of requests", live(latest_));
  return latest_;
}

void RequestChecks::forget(const CheckerPtr& checker) {
  if (latest_ == checker) latest_.reset();
}

async::Task<void> RequestChecks::live(CheckerPtr checker) {
  // Set even if the start fails or is cancelled: requests wait for it.
  struct Started {
    Checker& checker;
    ~Started() { checker.started.set(); }
  };
  Result<> loaded;
  {
    const Started started{*checker};
    auto loading = checker->server->load({});
    loaded = co_await std::move(loading);
    checker->ready = loaded.has_value();
  }
  if (!loaded) log::debug("router", "requests can't be checked before their load: {}", loaded.error().message);
  const std::weak_ptr<Checker> weak = checker;
  checker.reset();
  for (std::uint64_t answers = 0;;) {
    auto pause = timers_.sleep_for(kIdle);
    co_await std::move(pause);
    const auto idle = weak.lock();
    if (!idle) co_return;
    if (idle->answers == answers) co_return forget(idle);
    answers = idle->answers;
  }
}

async::Task<Result<>> RequestChecks::check(std::shared_ptr<const LoadSpec> spec,
                                           std::shared_ptr<const AskedRequest> asked) {
  auto checking = checked(*spec, *asked);
  auto outcome = co_await async::with_timeout(timers_, kCheckPatience, std::move(checking));
  co_return outcome ? std::move(*outcome) : Result<>();
}

async::Task<Result<>> RequestChecks::checked(const LoadSpec& spec, const AskedRequest& asked) {
  const auto checker = checker_for(spec);
  if (!checker) co_return Result<>();
  co_await checker->started.wait();
  if (!checker->ready) {
    forget(checker);
    co_return Result<>();
  }
  const bool alone = checker->asking == 0;
  const bool fresh = checker->answers == 0;
  const Asking counted(*checker);
  const auto answer = co_await checker->ask(home_, asked);
  ++checker->answers;
  if (answer) co_return verdict(*answer);
  forget(checker);
  if (!fresh) co_return co_await checked(spec, asked);      // it may have ended before it read this request
  if (!alone || checker->asking > 1) co_return Result<>();  // or because of another one
  co_return fail(errc::backend_died, fmt::format("the engine ended while it read this request to '{}', before the "
                                                 "model was loaded for it: change the request",
                                                 spec.name.value()));
}

async::Task<void> RequestChecks::stop() {
  latest_.reset();
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace corral::router
