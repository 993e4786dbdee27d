// Requests from several loops at once: leases taken, used, returned and given up away from the home loop.
#include <random>

#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/settle_for_tests.h"
#include "backends/fake_backend_for_tests.h"
#include "base/log.h"
#include "router/forward/answered_for_tests.h"
#include "router/forward/forwarder.h"
#include "router/model_router.h"

namespace corral::router {
namespace {

class LoopsTest : public testing::Test {
 protected:
  LoopsTest() {
    log::set_level(log::Level::none);
    for (const auto* name : {"a", "b", "c"}) models_.push_back(backends::fake_model(name));
    backend.reply = backends::FakeBackend::echo;
  }

  // Runs `driver` on the home loop beside the other one, then stops the router and looks at what is left.
  void run(async::Task<void> driver) {
    auto all = [this](async::Task<void> task) -> async::Task<void> {
      co_await std::move(task);
      co_await router.stop(Millis(5000));
      auto turning = async::give_turns({pool.home().executor(), pool.at(1).executor()});
      co_await std::move(turning);  // what the loops had posted to each other
      left_ = router.leftovers();
      pool.stop();
    };
    async::asio::co_spawn(pool.home().executor(), all(std::move(driver)), [this](const std::exception_ptr& failure) {
      failed_ = failure != nullptr;
      if (failed_) pool.stop();
    });
    pool.run();
    EXPECT_FALSE(failed_);
    EXPECT_EQ(left_, "");
  }
  static async::Task<void> turns(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) co_await async::asio::post(async::use_task);
  }

  async::LoopPool pool{2};
  async::SystemTimers timers;
  backends::FakeBackend backend{pool.home().executor()};
  ModelRouter router{pool.home(), timers, {&backend}, {}};
  Forwarder forwarder{router, timers};
  std::vector<backends::ModelPtr> models_;

 private:
  std::string left_ = "not looked";
  bool failed_ = false;
};

TEST_F(LoopsTest, RequestsOfBothLoopsAreAnsweredByTheModelTheyName) {
  backend.load_at_once = true;
  constexpr int kClients = 8, kRequests = 50;
  std::atomic<int> right = 0, wrong = 0;
  auto client = [&](int number) -> async::Task<bool> {
    for (int i = 0; i < kRequests; ++i) {
      const auto& model = models_[static_cast<std::size_t>(number + i) % models_.size()];
      ForwardRequest request{model, protocol::Ask::completion, "{}", i % 2 == 0, RequestId("r")};
      auto response = co_await answered(forwarder.forward(std::move(request)));
      const auto text = co_await response.body.read_all(1000);
      const auto wanted = "{\"model\":\"" + model->name.value() + "\"";
      ++(response.head.status == 200 && text && text->starts_with(wanted) ? right : wrong);
    }
    co_return true;
  };
  auto driver = [&]() -> async::Task<void> {
    async::TaskGroup clients(pool.home().executor());
    auto on_its_loop = [&](int number) -> async::Task<void> {
      auto task = client(number);
      co_await async::run_on(pool.at(static_cast<std::size_t>(number)).executor(), std::move(task));
    };
    for (int i = 0; i < kClients; ++i) clients.spawn("client", on_its_loop(i));
    co_await clients.join();
  };
  run(driver());
  EXPECT_EQ(right, kClients * kRequests);
  EXPECT_EQ(wrong, 0);
}

TEST_F(LoopsTest, ClientsOfTheOtherLoopLeaveAtAnyMoment) {
  auto away = [&]() -> async::Task<bool> {
    std::mt19937 random(7);
    async::TaskGroup group(pool.at(1).executor());
    auto hold = [this](backends::ModelPtr model, std::size_t held) -> async::Task<void> {
      auto lease = co_await router.acquire(std::move(model));
      co_await turns(held);
    };
    for (int i = 0; i < 600; ++i) {
      group.spawn("hold", hold(models_[random() % models_.size()], random() % 5));
      co_await turns(random() % 8);
      if (random() % 2) group.cancel();
      if (i % 20 == 0) {
        group.cancel();
        co_await group.join();
      }
    }
    group.cancel();
    co_await group.join();
    co_return true;
  };
  auto driver = [&]() -> async::Task<void> {
    async::TaskGroup group(pool.home().executor());
    auto finish_loads = [&]() -> async::Task<void> {
      std::mt19937 random(8);
      while (true) {
        co_await turns(1 + random() % 6);
        for (const auto& fake : backend.servers()) {
          if (fake->state() == backends::FakeServer::State::loading) fake->finish_load();
        }
      }
    };
    group.spawn("finish loads", finish_loads());
    auto task = away();
    co_await async::run_on(pool.at(1).executor(), std::move(task));
    group.cancel();
    co_await group.join();
  };
  run(driver());
}

TEST_F(LoopsTest, TheOtherLoopWatchesAndCancels) {
  backend.load_at_once = true;
  backend.reply = {};  // requests wait until they are cancelled
  constexpr int kRequests = 200;
  int cancelled = 0;
  std::size_t seen = 0;
  bool ended = false;
  auto read = [&]() -> async::Task<bool> {
    EventReader reader(router);
    while (!ended) {
      const auto update = co_await reader.next(Millis(10'000));
      seen += update.events.size();
      ended = update.ended;
      for (const auto& request : forwarder.requests().list()) forwarder.requests().cancel(request.id);
    }
    co_return true;
  };
  auto driver = [&]() -> async::Task<void> {
    async::TaskGroup group(pool.home().executor());
    auto away = [&]() -> async::Task<void> {
      auto task = read();
      co_await async::run_on(pool.at(1).executor(), std::move(task));
    };
    group.spawn("reader", away());
    for (int i = 0; i < kRequests; ++i) {
      ForwardRequest request{models_[static_cast<std::size_t>(i) % models_.size()], protocol::Ask::completion, "{}",
                             i % 2 == 0, RequestId("r")};
      auto response = co_await answered(forwarder.forward(std::move(request)));
      const auto text = co_await response.body.read_all(1000);
      cancelled += text && text->find("\"code\":\"cancelled\"") != std::string::npos;
    }
    co_await router.end_events();
    co_await group.join();
  };
  run(driver());
  EXPECT_EQ(cancelled, kRequests);
  EXPECT_GT(seen, 0u);
  EXPECT_TRUE(ended);
}

TEST_F(LoopsTest, ServersDieWhileTheOtherLoopUsesThem) {
  backend.load_at_once = true;
  std::atomic<int> answers = 0;
  std::atomic<bool> over = false;
  auto away = [&]() -> async::Task<bool> {
    for (int i = 0; i < 400; ++i) {
      auto lease = co_await router.acquire(models_[static_cast<std::size_t>(i / 4) % models_.size()]);
      if (!lease) continue;
      const http::RequestHead head{"POST", "/v1/x", {}};
      co_await turns(2);
      auto answer = co_await lease->target(pool.at(1).executor()).send(head, "{}");
      if (!answer) co_await lease->wait_for_exit();
      ++answers;
    }
    over = true;
    co_return true;
  };
  auto driver = [&]() -> async::Task<void> {
    RouterOptions patient;
    patient.residency.cooldown_after_crashes = 1'000'000;
    router.change(patient);
    async::TaskGroup group(pool.home().executor());
    auto kill = [&]() -> async::Task<void> {
      std::mt19937 random(9);
      while (!over) {
        co_await turns(1 + random() % 30);
        const auto servers = backend.servers();
        if (!servers.empty() && servers.back()->state() == backends::FakeServer::State::ready) servers.back()->die();
      }
    };
    group.spawn("kill", kill());
    auto task = away();
    co_await async::run_on(pool.at(1).executor(), std::move(task));
    co_await group.join();
  };
  run(driver());
  EXPECT_GT(answers, 0);
}

}  // namespace
}  // namespace corral::router
