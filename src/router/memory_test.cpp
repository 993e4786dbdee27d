// What the shell does for the rules of memory: measures, asks what a load will take, shrinks what is idle.
#include "router/base/errors.h"
#include "router/instances/memory_sampler.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

// Memory whose free part the test tells.
class FakeGauge final : public MemorySampler {
 public:
  async::Task<residency::MemorySampled> sample() override { co_return now(); }
  void watch(OnSample on_sample) override { watcher = std::move(on_sample); }
  void unwatch() override { watcher = {}; }

  async::Task<residency::MemoryUse> use_of(MemoryEstimate estimate) override { co_return memory_use(estimate, {}); }
  async::Task<Device> devices() override { co_return has_gpu ? Device::cpu | Device::gpu : Device::cpu; }

  residency::MemorySampled now() const {
    residency::MemorySampled sample{{{residency::PoolId("ram"), 1000, available}}};
    if (has_gpu) sample.pools.push_back({residency::PoolId("gpu0"), 1000, gpu_available});
    return sample;
  }
  std::uint64_t available = 1000;
  bool has_gpu = false;
  std::uint64_t gpu_available = 1000;
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
                   &sampler);
    forwarder.emplace(*router, timers);
  }
  static backends::LoadOptions leaving() {
    backends::LoadOptions options;
    options.auto_evict = true;
    return options;
  }
  FakeGauge sampler;
};

TEST_F(MemoryTest, ALoadThatDoesNotFitBesideAnIdleModelDrivesItOut) {
  have("a");
  sampler.available = 300;
  auto lease = acquire("b");
  EXPECT_THAT(backend.alive(), IsEmpty()) << "its memory has still to come back";
  sampler.available = 700;
  pass(300ms);
  EXPECT_THAT(backend.alive(), ElementsAre("b"));
  server("b").finish_load();
  settle();
  EXPECT_TRUE(lease.granted());
}

TEST_F(MemoryTest, ALoadThatFitsLeavesEverybodyWhereHeIs) {
  have("a");
  sampler.available = 600;
  have("b");
  EXPECT_THAT(backend.alive(), ElementsAre("a", "b"));
}

TEST_F(MemoryTest, AnIdleModelIsDownsizedAndThenEvicted) {
  auto loaded = load("a", leaving());
  server("a").finish_load();
  settle();
  pass(61s, 1s);
  EXPECT_EQ(server("a").downsizes(), 1u);
  EXPECT_EQ(report().instances.at(0).view.state, residency::InstanceState::downsized);
  pass(240s, 1s);
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(MemoryTest, NobodyWatchesWhereNobodyMayBeEvicted) {
  have("a");
  EXPECT_FALSE(sampler.watcher);
  auto loaded = load("a", leaving());
  settle();
  ASSERT_TRUE(sampler.watcher);
  backends::LoadOptions staying;
  staying.auto_evict = false;
  loaded = load("a", staying);
  settle();
  EXPECT_FALSE(sampler.watcher);
}

TEST_F(MemoryTest, UnderPressureTheIdleModelGoes) {
  auto loaded = load("a", leaving());
  server("a").finish_load();
  settle();
  pass(10s, 1s);
  backend.downsizes = false;
  sampler.available = 200;
  sampler.watcher(sampler.now());
  settle();
  EXPECT_THAT(backend.alive(), ElementsAre("a")) << "that is enough";
  sampler.available = 10;
  sampler.watcher(sampler.now());
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

TEST_F(MemoryTest, AModelIsOnTheDeviceThatItsOptionsAndTheMachineMakeIt) {
  const auto device_of = [this](const std::string& name) {
    for (const auto& server : report().instances) {
      if (server.view.spec->name.value() == name) return std::pair(server.view.spec->device, server.device);
    }
    return std::pair(Device::none, Device::none);
  };
  have("a");
  EXPECT_EQ(device_of("a"), std::pair(Device::cpu, Device::cpu)) << "no GPU in this machine";
  sampler.has_gpu = true;
  have("b");
  EXPECT_EQ(device_of("b"), std::pair(Device::gpu, Device::gpu));
  backends::LoadOptions none;
  none.gpu_layers = 0;
  auto loaded = load("c", none);
  server("c").finish_load();
  settle();
  EXPECT_EQ(device_of("c"), std::pair(Device::cpu, Device::cpu));
  server("b").computes_on = Device::cpu;
  EXPECT_EQ(device_of("b").second, Device::cpu) << "what the process says is what is shown";
}

TEST_F(MemoryTest, AFullGpuIsNoShortageForAModelOfTheCpu) {
  sampler.has_gpu = true;
  sampler.gpu_available = 0;
  backend.knows_estimates = false;
  backend.bound = 500;
  backends::LoadOptions none;
  none.gpu_layers = 0;
  auto loaded = load("a", none);
  server("a").finish_load();
  settle();
  EXPECT_EQ(backend.asked, 0u);
  have("b");
  EXPECT_EQ(backend.asked, 1u);
}

TEST_F(MemoryTest, TheNpuRuleGoesByTheDeviceOfTheBackendThatWasChosen) {
  backends::FakeBackend ears(loop.executor(), "whispercpp"), flm(loop.executor(), "flm");
  ears.load_at_once = flm.load_at_once = true;
  for (const char* name : {"on-npu", "talker"}) ears.devices[name] = flm.devices[name] = Device::npu;
  ears.devices["on-cpu"] = Device::cpu;
  forwarder.reset();
  run(router->stop(Millis(0)));
  settle();
  router.emplace(loop, timers, std::vector<backends::Backend*>{&ears, &flm}, slots(4));
  const auto take = [this](const char* name, ModelType type, const char* recipe) {
    auto loaded = run(router->load(backends::fake_model(name, type, recipe), {}, {}));
    EXPECT_TRUE(loaded.granted()) << name;
  };
  take("talker", ModelType::llm, "flm");
  take("on-cpu", ModelType::transcription, "whispercpp");
  EXPECT_THAT(resident(), testing::UnorderedElementsAre("talker", "on-cpu"));
  take("on-npu", ModelType::transcription, "whispercpp");
  EXPECT_THAT(resident(), testing::UnorderedElementsAre("on-cpu", "on-npu"));
  auto stopped = run(router->stop(Millis(0)));
  settle();
  start_with(slots(4));
}

// A machine whose GPU shows itself when the test says so.
class FakeGpu final : public device::PoolSource {
 public:
  explicit FakeGpu(const bool& there, async::Event* awake = nullptr) : there_(there), awake_(awake) {}
  std::string_view name() const override { return "fake"; }
  async::Task<Result<device::MemoryPools>> sample() override {
    if (awake_ != nullptr) co_await awake_->wait();
    device::MemoryPools pools;
    if (there_) pools.push_back({"gpu0", "fake", device::PoolKind::gpu, 100, 50});
    co_return pools;
  }

 private:
  const bool& there_;
  async::Event* const awake_;
};

TEST(DeviceMemorySampler, KnowsAGpuOnceItWasSeen) {
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  bool there = false;
  device::PoolSources sources;
  sources.push_back(std::make_unique<FakeGpu>(there));
  device::MemoryMonitor monitor(loop.executor(), timers, {}, std::move(sources));
  DeviceMemorySampler sampler(monitor);
  const auto devices = [&] {
    Pending<Device> asked(loop.executor(), sampler.devices());
    loop.context().restart();
    loop.context().poll();
    return asked.get();
  };
  EXPECT_EQ(devices(), Device::cpu);
  there = true;
  EXPECT_EQ(devices(), Device::cpu | Device::gpu);
  there = false;
  EXPECT_EQ(devices(), Device::cpu | Device::gpu);
}

// Its model would count on no GPU for all its time in memory.
TEST(DeviceMemorySampler, ALoadWaitsForTheFirstAnswerOfAGpu) {
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  async::Event awake(loop.executor());
  const bool there = true;
  device::PoolSources sources;
  sources.push_back(std::make_unique<FakeGpu>(there, &awake));
  device::MemoryMonitor monitor(loop.executor(), timers, {}, std::move(sources));
  DeviceMemorySampler sampler(monitor);
  const auto settle = [&](Millis time) {
    timers.advance(time);
    loop.context().restart();
    loop.context().poll();
  };
  Pending<residency::MemoryUse> use(
      loop.executor(), sampler.use_of({.devices = {{.device = "cpu"}, {.device = "cuda0", .weights = 60}}}));
  settle(Millis(9'000));
  EXPECT_FALSE(use.done());
  awake.set();
  settle(Millis(0));
  const residency::MemoryUse expected = {{residency::PoolId("ram"), 0, 0}, {residency::PoolId("gpu0"), 60, 0}};
  EXPECT_EQ(use.get(), expected);
}

TEST(MemoryUse, NamesMemoriesAsTheMonitorDoes) {
  MemoryEstimate estimate{.devices = {{.device = "cpu", .weights = 10, .kv = 4, .compute = 1},
                                      {.device = "cuda1", .weights = 100, .kv = 20, .compute = 3}}};
  estimate.process = 5;
  const device::MemoryPools pools = {{"ram", "RAM", device::PoolKind::ram, 1000, 900},
                                     {"gpu0", "A", device::PoolKind::gpu, 500, 400},
                                     {"gpu1", "B", device::PoolKind::gpu, 500, 400}};
  const residency::MemoryUse expected = {{residency::PoolId("ram"), 20, 5}, {residency::PoolId("gpu1"), 123, 23}};
  EXPECT_EQ(memory_use(estimate, pools), expected);
}

// What an engine calls its second device need not be the driver's second one.
TEST(MemoryUse, GoesByWhatADeviceIs) {
  const MemoryEstimate estimate{.devices = {{.device = "cpu", .weights = 10},
                                            {.device = "cuda0", .weights = 100, .pci = "0000:c1:00.0"},
                                            {.device = "vulkan1", .weights = 50, .integrated = true},
                                            {.device = "sycl0", .weights = 7}}};
  const device::MemoryPools pools = {{"ram", "RAM", device::PoolKind::ram, 1000, 900},
                                     {"gpu0", "A", device::PoolKind::gpu, 500, 400, "00000000:41:00.0"},
                                     {"gpu1", "B", device::PoolKind::gpu, 500, 400, "00000000:C1:00.0"}};
  const residency::MemoryUse expected = {
      {residency::PoolId("ram"), 60, 0}, {residency::PoolId("gpu1"), 100, 0}, {residency::PoolId("sycl0"), 7, 0}};
  EXPECT_EQ(memory_use(estimate, pools), expected);
}

}  // namespace
}  // namespace corral::router
