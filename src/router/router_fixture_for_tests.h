// For tests of the router: a ModelRouter over a fake backend, on one loop that the test runs, with a clock that it
// moves. Code runs only inside of settle(), so that every step can be checked.
//
//   auto a = acquire("a");          // starts, doesn't wait
//   server("a").finish_load();
//   settle();
//   EXPECT_TRUE(a.granted());
//
// After each test everything must be at rest: no instance, lease, ticket or task left. Variables of the test (a Lease,
// for example) are gone by then, because TearDown() runs after the test's own frame.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "backends/fake_backend_for_tests.h"
#include "base/log.h"
#include "router/forward/answered_for_tests.h"
#include "router/forward/forwarder.h"
#include "router/model_router.h"

namespace corral::router {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A task that runs beside the test, and its result once it has one. Dropping it cancels the task.
template <typename T>
class Pending {
 public:
  Pending(async::Executor executor, async::Task<T> task)
      : result_(std::make_shared<std::optional<T>>()), group_(std::make_unique<async::TaskGroup>(executor)) {
    group_->spawn("pending", keep(result_, std::move(task)));
  }

  bool done() const { return result_->has_value(); }
  T& get() { return result_->value(); }
  void cancel() { group_->cancel(); }
  bool running() const { return group_->running() > 0; }

  // For results that are a Result<>.
  bool granted() const { return done() && (*result_)->has_value(); }
  bool refused() const { return done() && !(*result_)->has_value(); }
  const Error& error() const { return (*result_)->error(); }
  // Takes the value out.
  auto take() { return std::move(**std::exchange(*result_, std::nullopt)); }

 private:
  static async::Task<void> keep(std::shared_ptr<std::optional<T>> result, async::Task<T> task) {
    result->emplace(co_await std::move(task));
  }

  std::shared_ptr<std::optional<T>> result_;
  std::unique_ptr<async::TaskGroup> group_;
};

// A client that reads an answer to its end (or until it is dropped).
class Reader {
 public:
  Reader(async::Executor executor, http::Response response)
      : state_(std::make_shared<State>()), group_(std::make_unique<async::TaskGroup>(executor)) {
    state_->status = response.head.status;
    group_->spawn("reader", read(state_, std::move(response)));
  }
  Reader(Reader&&) = default;
  Reader& operator=(Reader&&) = default;
  // The client leaves.
  void leave() { group_->cancel(); }

  unsigned status() const { return state_->status; }
  const std::vector<std::string>& pieces() const { return state_->pieces; }
  bool ended() const { return state_->ended; }
  std::string text() const {
    std::string all;
    for (const auto& piece : state_->pieces) all += piece;
    return all;
  }

 private:
  struct State {
    unsigned status = 0;
    std::vector<std::string> pieces;
    bool ended = false;
  };
  static async::Task<void> read(std::shared_ptr<State> state, http::Response response) {
    if (!response.body.streaming()) {
      state->pieces.push_back(response.body.text());
    } else {
      auto& source = *response.body.source();
      if (const auto ready = source.take_ready(); !ready.empty()) state->pieces.emplace_back(ready);
      while (true) {
        const auto piece = co_await source.read();
        if (!piece) state->pieces.push_back("BROKEN " + piece.error().message);
        if (!piece || piece->empty()) break;
        state->pieces.emplace_back(*piece);
      }
    }
    state->ended = true;
  }

  std::shared_ptr<State> state_;
  std::unique_ptr<async::TaskGroup> group_;
};

class RouterTest : public testing::Test {
 protected:
  // One slot of each type by default.
  void start(RouterOptions options = {}) {
    router.emplace(loop, timers, std::vector<backends::Backend*>{&backend}, std::move(options));
    forwarder.emplace(*router, timers);
  }
  void SetUp() override {
    log::set_level(log::Level::none);
    start();
  }
  void TearDown() override {
    settle();
    backend.stop_at_once = true;
    for (const auto& fake : backend.servers()) fake->let_stop();
    auto stopped = run(router->stop(Millis(1000)));
    settle();
    pass(1000ms);
    EXPECT_FALSE(stopped.running());
    EXPECT_THAT(backend.alive(), IsEmpty());
    EXPECT_EQ(router->leftovers(), "");
    EXPECT_EQ(timers.sleepers(), 0u);
  }

  static RouterOptions slots(std::int32_t count) {
    RouterOptions options;
    options.residency.limits = residency::Limits::of_all(count);
    return options;
  }

  // Runs all code that can run.
  void settle() {
    loop.context().restart();
    loop.context().poll();
  }
  // Time passes, in steps small enough for timers that set the next one.
  void pass(Millis time, Millis step = 100ms) {
    for (Millis left = time; left > 0ms; left -= step) {
      timers.advance(std::min(left, step));
      settle();
    }
  }

  template <typename T>
  Pending<T> run(async::Task<T> task) {
    Pending<T> pending(loop.executor(), std::move(task));
    settle();
    return pending;
  }
  Pending<bool> run(async::Task<void> task) {
    auto flagged = [](async::Task<void> inner) -> async::Task<bool> {
      co_await std::move(inner);
      co_return true;
    };
    return run(flagged(std::move(task)));
  }

  backends::ModelPtr model(const std::string& name, ModelType type = ModelType::llm) {
    auto& known = models_[name];
    if (!known) known = backends::fake_model(name, type);
    return known;
  }
  auto acquire(const std::string& name) { return run(router->acquire(model(name))); }
  auto load(const std::string& name, backends::LoadOptions options = {}, std::optional<bool> pin = {}) {
    return run(router->load(model(name), std::move(options), pin));
  }
  auto unload(const std::string& name) { return run(router->unload(ModelName(name))); }
  // Loaded and idle.
  void have(const std::string& name) {
    auto loaded = load(name);
    if (!loaded.done()) server(name).finish_load();
    settle();
    ASSERT_TRUE(loaded.granted()) << (loaded.done() ? loaded.error().message : name + " doesn't load");
  }
  Lease have_lease(const std::string& name) {
    auto lease = acquire(name);
    if (!lease.done()) server(name).finish_load();
    settle();
    EXPECT_TRUE(lease.granted()) << name;
    return lease.granted() ? lease.take() : Lease();
  }
  void drop(Lease&& lease) {
    lease.give_back();
    settle();
  }

  auto forward(const std::string& name, bool stream = false, std::string body = "{}",
               std::optional<Millis> ping_interval = {}) {
    ForwardRequest request{.model = model(name),
                           .body = std::move(body),
                           .stream = stream,
                           .id = RequestId("req-1"),
                           .ping_interval = ping_interval};
    return run(answered(forwarder->forward(std::move(request))));
  }
  Reader reader(Pending<http::Response>& response) {
    Reader made(loop.executor(), std::move(response.get()));
    settle();
    return made;
  }

  backends::FakeServer& server(const std::string& name) { return backend.server(name); }
  Report report() { return std::move(run(router->report()).get()); }
  std::vector<std::string> resident() {
    std::vector<std::string> names;
    for (const auto& entry : report().instances) names.push_back(entry.view.spec->name.value());
    return names;
  }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  backends::FakeBackend backend{loop.executor()};
  std::optional<ModelRouter> router;
  std::optional<Forwarder> forwarder;

 private:
  std::map<std::string, backends::ModelPtr> models_;
};

}  // namespace corral::router
