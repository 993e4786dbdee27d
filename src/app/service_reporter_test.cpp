#include "app/service_reporter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "async/task_group.h"
#include "base/service_manager_for_tests.h"

namespace corral::app {
namespace {

residency::SpecPtr spec_named(const char* name) {
  residency::ModelSpec spec;
  spec.name = ModelName(name);
  return std::make_shared<const residency::ModelSpec>(std::move(spec));
}

void add_instance(router::Report& report, const char* name, residency::InstanceState state) {
  router::InstanceReport instance;
  instance.view.spec = spec_named(name);
  instance.view.state = state;
  report.instances.push_back(std::move(instance));
}

TEST(ServiceStatus, ShowsWhatIsInMemoryAndWhatComes) {
  router::Report report;
  EXPECT_EQ(service_status(report), "no model in memory");
  add_instance(report, "a", residency::InstanceState::ready);
  add_instance(report, "b", residency::InstanceState::in_use);
  add_instance(report, "c", residency::InstanceState::evicting);
  EXPECT_EQ(service_status(report), "in memory: a, b");
  report.snapshot.loading.emplace();
  report.snapshot.loading->spec = spec_named("d");
  report.load_progress = 0.4;
  report.snapshot.queue.emplace_back();
  EXPECT_EQ(service_status(report), "in memory: a, b; loading: d (40 %); 1 load waits");
  report.snapshot.queue.emplace_back();
  report.instances.clear();
  EXPECT_EQ(service_status(report), "no model in memory; loading: d (40 %); 2 loads wait");
}

class ServiceReporterTest : public testing::Test {
 protected:
  ~ServiceReporterTest() override {
    tasks_.cancel();
    hung_ = false;
    async::run_blocking(loop_, tasks_.join());
  }

  void start(const char* watchdog_usec) {
    notifier_.emplace([&](std::string_view name) -> std::optional<std::string> {
      if (name == "NOTIFY_SOCKET") return manager_.name();
      if (name == "WATCHDOG_USEC" && watchdog_usec != nullptr) return watchdog_usec;
      return std::nullopt;
    });
    reporter_.emplace(
        *notifier_, timers_,
        ServiceReporter::Parts{.report = [this] { return report(); }, .visit_loops = [this] { return visit(); }});
    tasks_.spawn("reports", reporter_->run());
    settle();
  }
  void settle() {
    while (loop_.context().poll() > 0) {
    }
  }
  void pass(Millis time) {
    timers_.advance(time);
    settle();
  }
  // All datagrams, each on a line.
  std::string received() const {
    std::string all;
    for (auto one = manager_.received(); !one.empty(); one = manager_.received()) all += one + "\n";
    return all;
  }
  async::Task<router::Report> report() { co_return report_; }
  async::Task<void> visit() {
    if (hung_) co_await timers_.sleep_for(Millis(1'000'000'000));
  }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  FakeServiceManager manager_{"@corral-reporter-" + std::to_string(::getpid())};
  std::optional<ServiceNotifier> notifier_;
  std::optional<ServiceReporter> reporter_;
  router::Report report_;
  bool hung_ = false;
  async::TaskGroup tasks_{loop_.executor()};
};

TEST_F(ServiceReporterTest, AStartThatLoadsModelsGetsMoreTimeUntilItIsComplete) {
  start(nullptr);
  EXPECT_EQ(received(), "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=no model in memory\n");
  pass(Millis(2'000));
  EXPECT_EQ(received(), "EXTEND_TIMEOUT_USEC=30000000\n");
  add_instance(report_, "a", residency::InstanceState::ready);
  reporter_->started();
  pass(Millis(2'000));
  EXPECT_EQ(received(), "READY=1\nSTATUS=in memory: a\n");
  pass(Millis(2'000));
  EXPECT_EQ(received(), "");
  reporter_->stopping(Millis(5'000));
  EXPECT_EQ(received(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=5000000\n");
}

TEST_F(ServiceReporterTest, TheWatchdogIsFedAtHalfOfItsTime) {
  start("10000000");
  reporter_->started();
  EXPECT_EQ(received(), "WATCHDOG=1\nEXTEND_TIMEOUT_USEC=30000000\nSTATUS=no model in memory\nREADY=1\n");
  std::string all;
  for (int i = 0; i < 10; ++i) {  // 20 s
    pass(Millis(2'000));
    all += received();
  }
  EXPECT_EQ(all, "WATCHDOG=1\nWATCHDOG=1\nWATCHDOG=1\nWATCHDOG=1\nWATCHDOG=1\n");
}

TEST_F(ServiceReporterTest, AShortWatchdogIsFedInTime) {
  start("1000000");
  reporter_->started();
  received();
  pass(Millis(500));
  EXPECT_EQ(received(), "WATCHDOG=1\n");
}

TEST_F(ServiceReporterTest, ALoopThatHangsDoesNotFeedTheWatchdog) {
  start("1000000");
  received();
  hung_ = true;
  pass(Millis(500));
  pass(Millis(500));
  pass(Millis(5'000));
  EXPECT_EQ(received(), "");
}

TEST(VisitAllLoops, ReturnsOnlyAfterEachLoopHasRun) {
  async::LoopPool loops(3);
  int done = 0;
  async::asio::co_spawn(
      loops.home().executor(),
      [&]() -> async::Task<void> {
        co_await visit_all(loops);
        ++done;
      },
      [&](const std::exception_ptr&) { loops.stop(); });
  loops.run();
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace corral::app
