// What the shell does for the rules of memory: measures, asks what a load will take, shrinks what is idle.
#include "router/errors.h"
#include "router/memory_gauge.h"
#include "router/router_fixture.h"

namespace corral::router {
namespace {

// Memory whose free part the test tells.
class FakeGauge final : public MemoryGauge {
 public:
  async::Task<residency::MemorySampled> sample() override { co_return now(); }
  void watch(OnSample on_sample) override { watcher = std::move(on_sample); }
  void unwatch() override { watcher = {}; }

  residency::MemorySampled now() const { return {{{residency::PoolId("ram"), 1000, available}}}; }
  std::uint64_t available = 1000;
  OnSample watcher;
};

MemoryEstimate takes(std::uint64_t weights, std::uint64_t kv) {
  return {.devices = {{.device = "cpu", .weights = weights, .kv = kv}}};
}

class MemoryTest : public RouterTest {
 protected:
  void SetUp() override {
    RouterTest::SetUp();
    for (const char* name : {"a", "b", "c"}) backend.estimates[name] = takes(300, 100);
    start_with(slots(4));
  }
  void start_with(RouterOptions options) {
    forwarder.reset();
    run(router->stop(Millis(0)));
    settle();
    router.emplace(loop, timers, std::vector<backends::Backend*>{&backend}, std::move(options), backends::OptionStore(),
                   &gauge);
    forwarder.emplace(*router, timers);
  }
  static backends::LoadOptions leaving() {
    backends::LoadOptions options;
    options.auto_evict = true;
    return options;
  }
  FakeGauge gauge;
};

TEST_F(MemoryTest, ALoadThatDoesNotFitBesideAnIdleModelDrivesItOut) {
  have("a");
  gauge.available = 300;
  auto lease = acquire("b");
  EXPECT_THAT(backend.alive(), IsEmpty()) << "its memory has still to come back";
  gauge.available = 700;
  pass(300ms);
  EXPECT_THAT(backend.alive(), ElementsAre("b"));
  server("b").finish_load();
  settle();
  EXPECT_TRUE(lease.granted());
}

TEST_F(MemoryTest, ALoadThatFitsLeavesEverybodyWhereHeIs) {
  have("a");
  gauge.available = 600;
  have("b");
  EXPECT_THAT(backend.alive(), ElementsAre("a", "b"));
}

TEST_F(MemoryTest, AnIdleModelIsDownsizedAndThenEvicted) {
  auto loaded = load("a", leaving());
  server("a").finish_load();
  settle();
  pass(61s, 1s);
  EXPECT_EQ(server("a").downsizes(), 1u);
  EXPECT_EQ(report().servers.at(0).view.state, residency::ServerState::downsized);
  pass(240s, 1s);
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(MemoryTest, NobodyWatchesWhereNobodyMayBeEvicted) {
  have("a");
  EXPECT_FALSE(gauge.watcher);
  auto loaded = load("a", leaving());
  settle();
  ASSERT_TRUE(gauge.watcher);
  backends::LoadOptions staying;
  staying.auto_evict = false;
  loaded = load("a", staying);
  settle();
  EXPECT_FALSE(gauge.watcher);
}

TEST_F(MemoryTest, UnderPressureTheIdleModelGoes) {
  auto loaded = load("a", leaving());
  server("a").finish_load();
  settle();
  pass(10s, 1s);
  backend.downsizes = false;
  gauge.available = 10;
  gauge.watcher(gauge.now());
  settle();
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(MemoryTest, SimulatedPressureTellsWhatItHasDone) {
  auto loaded = load("a", leaving());
  server("a").finish_load();
  settle();
  auto done = run(router->simulate_pressure(0.99));
  settle();
  ASSERT_FALSE(done.running());
  const auto report = done.get().value();
  EXPECT_EQ(report.downsized.size() + report.evicted.size(), 1u);
}

TEST(MemoryUse, NamesMemoriesAsTheMonitorDoes) {
  MemoryEstimate estimate{.devices = {{.device = "cpu", .weights = 10, .kv = 4, .compute = 1},
                                      {.device = "cuda1", .weights = 100, .kv = 20, .compute = 3}}};
  estimate.process = 5;
  const residency::MemoryUse expected = {{residency::PoolId("ram"), 20, 5}, {residency::PoolId("gpu1"), 123, 23}};
  EXPECT_EQ(memory_use(estimate), expected);
}

}  // namespace
}  // namespace corral::router
