// What groups of a mesh load here, between all the others.
#include "router/base/errors.h"
#include "router/group_fixture_for_tests.h"

namespace corral::router {
namespace {

using GroupLoadTest = GroupRouterTest;

// ---- shares

TEST_F(GroupLoadTest, AShareIsBookedAndNoModelThatCouldBeAsked) {
  const auto of = made(300, "share");
  const auto lease = have_group(share(of));
  const auto all = report();
  EXPECT_THAT(all.instances, IsEmpty());
  ASSERT_EQ(all.shares.size(), 1u);
  EXPECT_EQ(all.shares[0].of.host, "laptop");
  EXPECT_EQ(all.shares[0].of.model, "big");
  EXPECT_EQ(all.shares[0].instance.view.spec->memory.at(0).total, 300u);
  ASSERT_EQ(all.snapshot.lent_memory.size(), 1u);
  EXPECT_EQ(all.snapshot.lent_memory[0].total, 300u);
  EXPECT_FALSE(all.snapshot.most_recent);
  EXPECT_THAT(run(router->residents()).get(), IsEmpty()) << "nobody asks it for numbers";
}

TEST_F(GroupLoadTest, AShareThatLoadsIsNoModelThatLoads) {
  auto lease = run(router->groups().acquire(share(made(300, "share"))));
  EXPECT_FALSE(report().snapshot.loading);
}

TEST_F(GroupLoadTest, TheWatchdogAsksAShareNothing) {
  const auto of = made(300, "share");
  const auto lease = have_group(share(of));
  pass(20'000ms);
  EXPECT_TRUE(server_of(of).alive());
  EXPECT_THAT(server_of(of).requests(), IsEmpty());
}

TEST_F(GroupLoadTest, AShareIsOfTheGpusWhereThereAreAny) {
  sampler.gpus = 2;
  const auto lease = have_group(share(made(300, "share")));
  const auto all = report();
  ASSERT_EQ(all.shares.size(), 1u);
  const auto& memory = all.shares[0].instance.view.spec->memory;
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[0].pool.value(), "gpu0");
  EXPECT_EQ(memory[0].total, 150u);
  EXPECT_EQ(memory[1].total, 150u);
}

TEST_F(GroupLoadTest, AShareThatDoesntFitIsRefusedAndSaysWhatIsShort) {
  sampler.available = 350;
  auto lease = run(router->groups().acquire(share(made(300, "share"))));
  ASSERT_TRUE(lease.refused());
  EXPECT_EQ(lease.error().code, residency::errc::not_here);
  ASSERT_EQ(lease.error().memory.size(), 1u);
  EXPECT_EQ(lease.error().memory[0].have, 250u);
}

TEST_F(GroupLoadTest, TheOwnersLoadRecallsAShareAndGetsItsMemory) {
  const auto of = made(700, "share");
  auto lease = have_group(share(of));
  sampler.available = 300;
  auto own = acquire("a");
  EXPECT_EQ(recalls, 1);
  EXPECT_EQ(report().shares.at(0).instance.view.leaving, residency::StopReason::recall);
  drop(std::move(lease));
  EXPECT_FALSE(server_of(of).alive());
  sampler.available = 1000;
  pass(300ms);
  server("a").finish_load();
  settle();
  EXPECT_TRUE(own.granted());
  EXPECT_EQ(recalls, 1);
}

TEST_F(GroupLoadTest, WhoDoesntLetGoIsStoppedAfterHalfAMinute) {
  const auto of = made(700, "share");
  const auto lease = have_group(share(of));
  sampler.available = 300;
  auto own = acquire("a");
  pass(29'000ms);
  EXPECT_TRUE(server_of(of).alive());
  pass(1'100ms);
  EXPECT_FALSE(server_of(of).alive());
  auto gone = run(lease.wait_for_exit());
  EXPECT_TRUE(gone.get().intentional);
}

TEST_F(GroupLoadTest, ADeadShareIsToldFromOneThatWasToldToGo) {
  const auto of = made(300, "share");
  const auto lease = have_group(share(of));
  auto gone = run(lease.wait_for_exit());
  server_of(of).die();
  settle();
  ASSERT_TRUE(gone.done());
  EXPECT_FALSE(gone.get().intentional);
  EXPECT_THAT(report().shares, IsEmpty());
}

// ---- splits

TEST_F(GroupLoadTest, ASplitTakesWhatItsPlanSaysAndNotItsFile) {
  backend.never_fit.emplace("a", Error(make_error_code(backends::errc::load_never_fits), "far too large"));
  const auto of = made(300);
  auto lease = have_group(split("a", of));
  EXPECT_TRUE(report().instances.at(0).view.lent);
  EXPECT_EQ(report().instances.at(0).view.spec->memory.at(0).total, 300u);
  drop(std::move(lease));
  EXPECT_TRUE(acquire("a").granted()) << "it is asked like any other";
  EXPECT_THAT(backend.servers(), IsEmpty()) << "nobody loaded the whole of it";
}

TEST_F(GroupLoadTest, ASplitChangesNothingAboutWhatItsModelNeeds) {
  const auto needs = [&] { return run(router->contexts({model("a")})).get().front().memory; };
  const auto before = needs();
  const auto lease = have_group(split("a", made(20)));
  EXPECT_EQ(needs(), before);
}

TEST_F(GroupLoadTest, WhoLoadsASplitModelFindsItLoaded) {
  auto lease = have_group(split("a", made(300)));
  drop(std::move(lease));
  auto loaded = load("a");
  ASSERT_TRUE(loaded.granted());
  EXPECT_TRUE(loaded.take());
}

TEST_F(GroupLoadTest, ASplitThatItsOwnerAskedForIsHis) {
  const auto lease = have_group(split("a", made(300), residency::RequestOrigin::local));
  EXPECT_FALSE(report().instances.at(0).view.lent);
}

TEST_F(GroupLoadTest, ThePlansContextIsTakenUnlessTheOwnerHasSaidAnother) {
  const auto of = made(300);
  auto request = split("a", of);
  request.context = 777;
  const auto lease = have_group(std::move(request));
  EXPECT_EQ(server_of(of).options().ctx_size, 777);
}

TEST_F(GroupLoadTest, ASplitThatFailsDrivesOutNobodyAndIsntTriedAgain) {
  have("b");
  const auto of = made(100);
  auto lease = run(router->groups().acquire(split("a", of, residency::RequestOrigin::peer)));
  server_of(of).fail_load(Error(make_error_code(backends::errc::load_crashed), "no worker"));
  settle();
  ASSERT_TRUE(lease.refused());
  EXPECT_THAT(lease.error().message, HasSubstr("no worker"));
  EXPECT_EQ(of->servers().size(), 1u);
  EXPECT_THAT(backend.alive(), ElementsAre("b"));
}

TEST_F(GroupLoadTest, WhatIsHeldIsLoadedByNoRequestButServedByItsGroup) {
  router->groups().hold(ModelName("a"), true);
  auto early = acquire("a");
  ASSERT_TRUE(early.refused());
  EXPECT_EQ(early.error().code, residency::errc::not_here);
  const auto of = made(300);
  auto loading = run(router->groups().acquire(split("a", of)));
  auto joined = acquire("a");
  EXPECT_FALSE(joined.done());
  server_of(of).finish_load();
  settle();
  EXPECT_TRUE(joined.granted());
  EXPECT_THAT(backend.servers(), IsEmpty());
  router->groups().hold(ModelName("a"), false);
}

TEST_F(GroupLoadTest, NoRequestForMoreContextReloadsWhatIsHeld) {
  router->groups().hold(ModelName("a"), true);
  const auto of = made(300);
  of->max_context = 2048;
  auto lease = have_group(split("a", of));
  auto more = run(router->acquire(model("a"), LeaseRequest{.context = {4096}}));
  ASSERT_TRUE(more.refused());
  EXPECT_EQ(more.error().code, backends::errc::invalid_option);
  EXPECT_TRUE(server_of(of).alive());
  EXPECT_THAT(backend.servers(), IsEmpty());
  router->groups().hold(ModelName("a"), false);
}

TEST_F(GroupLoadTest, AModelThatIsInMemoryOtherwiseIsNoGroups) {
  have("a");
  auto lease = run(router->groups().acquire(split("a", made(300))));
  ASSERT_TRUE(lease.refused());
  EXPECT_EQ(report().instances.at(0).view.leases, 0u) << "and is left as it is";
}

// ---- ends

TEST_F(GroupLoadTest, TheEndOfAGroupsLoadIsWhenNothingOfItIsLeft) {
  const auto of = made(300);
  of->stop_at_once = false;
  const auto lease = have_group(split("a", of));
  auto ending = run(router->groups().end(of));
  settle();
  EXPECT_TRUE(ending.done());
  EXPECT_THAT(of->alive(), IsEmpty());
  EXPECT_THAT(report().instances, IsEmpty());
}

TEST_F(GroupLoadTest, TheEndInTheMiddleOfALoad) {
  const auto of = made(300);
  auto lease = run(router->groups().acquire(split("a", of)));
  auto ending = run(router->groups().end(of));
  EXPECT_TRUE(ending.done());
  EXPECT_TRUE(lease.refused());
  EXPECT_THAT(of->alive(), IsEmpty());
}

TEST_F(GroupLoadTest, TheEndOfWhatIsNotThere) {
  EXPECT_TRUE(run(router->groups().end(made(300))).done());
  EXPECT_TRUE(run(router->groups().drain(made(300))).done());
}

TEST_F(GroupLoadTest, ADrainedOneFinishesItsRequestsFirst) {
  const auto of = made(300);
  auto lease = have_group(split("a", of));
  router->groups().hold(ModelName("a"), true);
  auto draining = run(router->groups().drain(of));
  EXPECT_FALSE(draining.done());
  auto late = acquire("a");
  ASSERT_TRUE(late.refused()) << "nobody loads it anew meanwhile";
  drop(std::move(lease));
  EXPECT_TRUE(draining.done());
  EXPECT_THAT(of->alive(), IsEmpty());
  router->groups().hold(ModelName("a"), false);
}

TEST_F(GroupLoadTest, ADrainOfOneThatStillLoadsEndsIt) {
  const auto of = made(300);
  auto lease = run(router->groups().acquire(split("a", of)));
  auto draining = run(router->groups().drain(of));
  EXPECT_TRUE(draining.done());
  EXPECT_THAT(of->alive(), IsEmpty());
}

TEST_F(GroupLoadTest, WhatIsThereIsKnown) {
  EXPECT_FALSE(router->groups().is_there(ModelName("a")));
  auto lease = acquire("a");
  EXPECT_TRUE(router->groups().is_there(ModelName("a")));
}

}  // namespace
}  // namespace corral::router
