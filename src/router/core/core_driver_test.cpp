// CoreDriver continues, whatever throws in a step.
#include "router/core/core_driver.h"

#include <stdexcept>

#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

// Throws where it is told to, and notes what it did.
class FailingActions final : public ActionExecutor {
 public:
  void on(const residency::CheckLoad&) override { did("check"); }
  void on(const residency::DropCheck&) override { did("drop"); }
  void on(const residency::StartLoad& action) override {
    last = action.instance;
    did("start");
  }
  void on(const residency::AbortLoad&) override { did("abort"); }
  void on(const residency::StopInstance&) override { did("stop"); }
  void on(const residency::Recall&) override { did("recall"); }
  void on(const residency::Downsize&) override { did("downsize"); }
  void on(const residency::SampleMemory&) override { did("sample"); }
  void on(const residency::WatchMemory&) override { did("watch"); }
  void on(const residency::PinChanged&) override { did("pin"); }
  void stepped(std::uint64_t) override {
    if (throws == "telling") throw std::runtime_error("telling");
  }
  void did(const std::string& what) {
    done.push_back(what);
    if (what == throws) throw std::runtime_error(what);
  }

  std::string throws;
  std::vector<std::string> done;
  residency::InstanceId last{0};
};

class CoreDriverTest : public testing::Test {
 protected:
  void SetUp() override { log::set_level(log::Level::none); }
  void TearDown() override {
    async::TaskGroup stopping(loop.executor());
    stopping.spawn("stop", driver.stop());
    settle();
    EXPECT_EQ(stopping.running(), 0u);
  }
  static residency::SpecPtr spec(const std::string& name, residency::ModelSpec made = {}) {
    made.name = ModelName(name);
    return std::make_shared<const residency::ModelSpec>(made);
  }
  Pending<Answer> acquire(const residency::SpecPtr& spec) {
    Pending<Answer> pending(loop.executor(), driver.ask(residency::Acquire{{}, spec}));
    settle();
    return pending;
  }
  void settle() {
    loop.context().restart();
    loop.context().poll();
  }
  static bool granted(Pending<Answer>& answer) {
    return answer.done() && std::holds_alternative<residency::Granted>(answer.get());
  }
  static std::string error(Pending<Answer>& answer) {
    const auto* error = answer.done() ? std::get_if<Error>(&answer.get()) : nullptr;
    return error == nullptr ? "no error" : error->code.message();
  }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  FailingActions executor;
  // Can't decide what it is told to fail at.
  class Undecided final : public CoreDriver {
   public:
    using CoreDriver::CoreDriver;
    bool fails = false;

   protected:
    void decide(const residency::Event& event, residency::ActionList& actions) override {
      if (std::exchange(fails, false)) throw std::logic_error("no idea");
      CoreDriver::decide(event, actions);
    }
  };
  Undecided driver{loop.executor(), timers, residency::Core({}), executor};
};

// It went quiet for ever: the flag that keeps steps apart stayed set.
TEST_F(CoreDriverTest, AStartThatThrowsIsAFailedLoadAndTheNextOneGoesWell) {
  executor.throws = "start";
  auto a = acquire(spec("a"));
  EXPECT_EQ(error(a), "internal_error");
  executor.throws.clear();
  auto b = acquire(spec("b"));
  driver.dispatch(residency::LoadSucceeded{executor.last});
  settle();
  EXPECT_TRUE(granted(b));
}

TEST_F(CoreDriverTest, ACheckThatThrowsIsAFailedCheck) {
  executor.throws = "check";
  residency::ModelSpec unknown;
  unknown.to_check = true;
  auto a = acquire(spec("a", unknown));
  EXPECT_EQ(error(a), "internal_error");
  EXPECT_THAT(driver.core().state().queue, IsEmpty());
}

TEST_F(CoreDriverTest, AStopThatThrowsFreesItsSlot) {
  auto a = acquire(spec("a"));
  driver.dispatch(residency::LoadSucceeded{executor.last});
  settle();
  ASSERT_TRUE(granted(a));
  driver.return_lease(std::get<residency::Granted>(a.get()).lease);
  executor.throws = "stop";
  auto b = acquire(spec("b"));
  EXPECT_THAT(executor.done, ElementsAre("start", "stop", "start"));
}

TEST_F(CoreDriverTest, ASampleThatThrowsIsNone) {
  executor.throws = "sample";
  residency::ModelSpec large;
  large.memory = {{residency::PoolId("ram"), 10, 0}};
  auto a = acquire(spec("a", large));
  EXPECT_THAT(executor.done, ElementsAre("sample", "start"));
}

TEST_F(CoreDriverTest, ADecisionThatThrowsIsAnsweredAndTheNextOneIsMade) {
  driver.fails = true;
  auto none = acquire(spec("a"));
  EXPECT_EQ(error(none), "internal_error");
  auto a = acquire(spec("a"));
  driver.dispatch(residency::LoadSucceeded{executor.last});
  settle();
  EXPECT_TRUE(granted(a));
}

TEST_F(CoreDriverTest, ATellingThatThrowsHidesNothing) {
  executor.throws = "telling";
  auto a = acquire(spec("a"));
  driver.dispatch(residency::LoadSucceeded{executor.last});
  settle();
  EXPECT_TRUE(granted(a));
}

TEST_F(CoreDriverTest, ALeaseForWhoeverHasGoneUnnoticedIsGivenBack) {
  driver.dispatch(residency::Acquire{residency::TicketId(99), spec("a")});
  driver.dispatch(residency::LoadSucceeded{executor.last});
  EXPECT_EQ(driver.core().state().leases.size(), 0u);
}

}  // namespace
}  // namespace corral::router
