// Requests of other machines of a mesh, through PeerLeaseProvider.
#include "residency/errors.h"
#include "router/instances/memory_sampler.h"
#include "router/peer_lease_provider.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

class SteadyGauge final : public MemorySampler {
 public:
  async::Task<residency::MemorySampled> sample() override {
    co_return residency::MemorySampled{{{residency::PoolId("ram"), 1000, available}}};
  }
  void watch(OnSample) override {}
  void unwatch() override {}
  async::Task<residency::MemoryUse> use_of(MemoryEstimate estimate) override { co_return memory_use(estimate, {}); }
  async::Task<Device> devices() override { co_return Device::cpu; }
  std::uint64_t available = 1000;
};

class LendingTest : public RouterTest {
 protected:
  void SetUp() override {
    RouterTest::SetUp();
    for (const char* name : {"a", "b", "c"})
      backend.estimates[name] = {.devices = {{.device = "cpu", .weights = 300, .kv = 100}}};
    forwarder.reset();
    run(router->stop(Millis(0)));
    settle();
    router.emplace(loop, timers, std::vector<backends::Backend*>{&backend}, slots(1), backends::OptionStore(),
                   &sampler);
    forwarder.emplace(*router, timers);
    peers.emplace(*router, timers);
  }
  auto ask(const std::string& name, LeaseRequest request = {}) {
    return run(peers->acquire(model(name), std::move(request)));
  }
  Lease lend(const std::string& name) {
    auto lease = ask(name);
    server(name).finish_load();
    settle();
    EXPECT_TRUE(lease.granted()) << name;
    return lease.granted() ? lease.take() : Lease();
  }

  SteadyGauge sampler;
  std::optional<PeerLeaseProvider> peers;
};

TEST_F(LendingTest, ALoadForAPeerTakesNoSlotAndIsShown) {
  backend.knows_estimates = false;
  have("a");
  sampler.available = 600;
  auto lease = lend("b");
  EXPECT_THAT(backend.alive(), ElementsAre("a", "b"));
  const auto all = report();
  EXPECT_FALSE(all.instances.at(0).view.lent);
  EXPECT_TRUE(all.instances.at(1).view.lent);
  EXPECT_EQ(all.instances.at(1).view.peer_leases, 1u);
  ASSERT_EQ(all.snapshot.lent_memory.size(), 1u);
  EXPECT_GE(all.snapshot.lent_memory[0].total, 400u) << "its needs are found out, though memory isn't short";
}

TEST_F(LendingTest, WhatIsInMemoryServesByTheShortWay) {
  have("a");
  const auto asked_here = [](PeerLeaseProvider& provider, backends::ModelPtr wanted) -> async::Task<bool> {
    co_return static_cast<bool>(provider.try_acquire(*wanted, 0));
  };
  EXPECT_TRUE(run(asked_here(*peers, model("a"))).get());
  EXPECT_FALSE(run(asked_here(*peers, model("b"))).get());
}

TEST_F(LendingTest, APeerHearsWhatIsShort) {
  sampler.available = 450;
  auto refused = ask("b");
  ASSERT_TRUE(refused.done());
  ASSERT_FALSE(refused.granted());
  EXPECT_EQ(refused.error().code, residency::errc::not_here);
  ASSERT_EQ(refused.error().memory.size(), 1u);
  EXPECT_EQ(refused.error().memory[0].have, 350u);
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(LendingTest, APeerNeverWaitsBehindALoadOfTheOwners) {
  auto own = acquire("a");
  auto refused = ask("b");
  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.error().code, residency::errc::not_here);
  server("a").finish_load();
  settle();
  EXPECT_TRUE(own.granted());
}

// Each has one of the places of its node.
TEST_F(LendingTest, OnlySoManyOfOneNodeWaitForAnothersLoad) {
  const auto request_of = [](const char* peer) {
    return LeaseRequest{.requester = {.peer = NodeRef(peer), .waits = true}};
  };
  auto first = ask("a", request_of("x"));
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
  std::vector<Pending<Result<Lease>>> waiting;
  for (int i = 0; i < 8; ++i) waiting.push_back(ask("b", request_of("x")));
  for (auto& one : waiting) EXPECT_FALSE(one.done());
  for (int i = 0; i < 3; ++i) {
    auto refused = ask("b", request_of("x"));
    ASSERT_TRUE(refused.done()) << i;
    EXPECT_NE(refused.error().fact<residency::SoonHere>(), nullptr);
    EXPECT_TRUE(refused.error().retry_after);
  }
  auto other = ask("b", request_of("y"));
  EXPECT_FALSE(other.done()) << "another node's";
  waiting.pop_back();  // whoever leaves makes room
  settle();
  waiting.push_back(ask("b", request_of("x")));
  EXPECT_FALSE(waiting.back().done());
  server("a").finish_load();
  settle();
  ASSERT_TRUE(first.granted());
  first.take();
  pass(250ms, 50ms);
  server("b").finish_load();
  settle();
  for (auto& one : waiting) EXPECT_TRUE(one.granted());
  EXPECT_TRUE(other.granted());
}

TEST_F(LendingTest, TheOwnersLoadAbortsOneForAPeer) {
  auto lent = ask("b");
  EXPECT_THAT(backend.alive(), ElementsAre("b"));
  auto own = acquire("a");
  ASSERT_TRUE(lent.done());
  EXPECT_EQ(lent.error().code, residency::errc::not_here);
  server("b").let_stop();
  settle();
  server("a").finish_load();
  settle();
  EXPECT_TRUE(own.granted());
}

TEST_F(LendingTest, ALentModelIsRecalledAndItsStreamEndsWithOneError) {
  Forwarder far(*peers, timers);
  ForwardRequest asked{model("b"), protocol::Ask::completion, "{}", true, RequestId("far"), {}};
  auto response = run(answered(far.forward(std::move(asked))));
  server("b").finish_load();
  settle();
  auto& request = server("b").request();
  request.begin_stream();
  request.send("data: {}\n\n");
  settle();
  auto stream = reader(response);
  sampler.available = 300;
  auto own = acquire("a");
  pass(29s, 1s);
  EXPECT_THAT(server("b").stops(), IsEmpty()) << "it has its time";
  pass(2s, 1s);
  EXPECT_THAT(server("b").stops(), ElementsAre(0ms));
  server("b").let_stop();
  sampler.available = 900;
  settle();
  pass(5s, 1s);
  EXPECT_TRUE(stream.ended());
  EXPECT_THAT(stream.text(), HasSubstr("its node needs the memory"));
  EXPECT_THAT(stream.text(), testing::Not(HasSubstr("[DONE]")));
  server("a").finish_load();
  settle();
  EXPECT_TRUE(own.granted());
}

TEST_F(LendingTest, TheOwnersRequestMakesItHis) {
  have("a");
  sampler.available = 600;
  drop(lend("b"));
  auto own = acquire("b");
  EXPECT_TRUE(own.granted()) << "at once";
  EXPECT_THAT(backend.alive(), ElementsAre("b")) << "the other one has left its slot";
  EXPECT_FALSE(report().instances.at(0).view.lent);
}

TEST_F(LendingTest, APeerChangesNoContext) {
  backend.usual_context = 1000;
  have("a");
  auto refused = ask("a", LeaseRequest{.context = {2000}});
  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.error().code, residency::errc::not_here);
  EXPECT_EQ(refused.error().param, "ctx_size");
  EXPECT_TRUE(ask("a", LeaseRequest{.context = {1000}}).granted());
  EXPECT_THAT(backend.servers(), testing::SizeIs(1)) << "nothing is loaded anew";
}

}  // namespace
}  // namespace corral::router
