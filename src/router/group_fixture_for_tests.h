// For tests of loads of groups of a mesh: a router whose free memory the test sets, and a fake backend for each load.
#pragma once

#include "residency/errors.h"
#include "router/instances/memory_sampler.h"
#include "router/peer_lease_provider.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {

// 1,000 bytes of host memory, and the same on each of `gpus`; 100 are never lent.
class GroupGauge final : public MemorySampler {
 public:
  async::Task<residency::MemorySampled> sample() override {
    residency::MemorySampled seen{{{residency::PoolId("ram"), 1000, available}}};
    for (int i = 0; i < gpus; ++i) seen.pools.push_back({residency::PoolId("gpu" + std::to_string(i)), 1000, 1000});
    co_return seen;
  }
  void watch(OnSample) override {}
  void unwatch() override {}
  async::Task<residency::MemoryUse> use_of(MemoryEstimate estimate) override { co_return memory_use(estimate, {}); }
  async::Task<Device> devices() override { co_return gpus > 0 ? Device::cpu | Device::gpu : Device::cpu; }
  std::uint64_t available = 1000;
  int gpus = 0;
};

class GroupRouterTest : public RouterTest {
 protected:
  using BackendPtr = std::shared_ptr<backends::FakeBackend>;

  void SetUp() override {
    RouterTest::SetUp();
    for (const char* name : {"a", "b", "c"})
      backend.estimates[name] = {.devices = {{.device = "cpu", .weights = 300, .kv = 100}}};
    RouterOptions options = slots(1);
    options.watchdog_timeout = 4000ms;
    forwarder.reset();
    run(router->stop(Millis(0)));
    settle();
    router.emplace(loop, timers, std::vector<backends::Backend*>{&backend}, std::move(options), backends::OptionStore(),
                   &sampler);
    forwarder.emplace(*router, timers);
  }
  void TearDown() override {
    for (const auto& made : made_) {
      made->stop_at_once = true;
      for (const auto& fake : made->servers()) fake->let_stop();
    }
    RouterTest::TearDown();
    for (const auto& made : made_) EXPECT_THAT(made->alive(), IsEmpty());
  }

  // The backend of a load that takes so many bytes here.
  BackendPtr made(std::uint64_t bytes, const char* recipe = "llamacpp") {
    made_.push_back(std::make_shared<backends::FakeBackend>(loop.executor(), recipe));
    made_.back()->given = backends::GivenMemory{bytes, 0};
    return made_.back();
  }
  GroupLoad share(const BackendPtr& of) {
    of->askable = false;
    GroupLoad load{.model = backends::fake_model("share for x", ModelType::llm, "share"), .backend = of};
    load.deadline = 8000ms;
    load.share = ShareOf{"laptop", "big"};
    load.recalled = [this] { ++recalls; };
    return load;
  }
  GroupLoad split(const std::string& name, const BackendPtr& of,
                  residency::RequestOrigin origin = residency::RequestOrigin::peer) {
    return {.model = model(name), .backend = of, .origin = origin};
  }
  Lease have_group(GroupLoad load) {
    const auto of = std::static_pointer_cast<backends::FakeBackend>(load.backend);
    auto lease = run(router->groups().acquire(std::move(load)));
    if (!lease.done()) of->servers().back()->finish_load();
    settle();
    EXPECT_TRUE(lease.granted()) << (lease.done() ? lease.error().message : "it doesn't load");
    return lease.granted() ? lease.take() : Lease();
  }
  backends::FakeServer& server_of(const BackendPtr& of) { return *of->servers().back(); }

  GroupGauge sampler;
  int recalls = 0;

 private:
  std::vector<BackendPtr> made_;
};

}  // namespace corral::router
