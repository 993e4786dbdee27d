// What groups have done at this node: each order, each end, each exactly once.
#include "fleet/hosting/router_group_fixture_for_tests.h"

namespace corral::fleet {
namespace {

// ---- engines

TEST_F(RouterGroupProcessesTest, AnEngineIsLoadedAsLentWithItsPlan) {
  EXPECT_THAT(start(engine_order(1)), IsEmpty());
  ASSERT_EQ(splits.size(), 1u);
  EXPECT_EQ(splits[0].remotes.at(0).endpoint, "127.0.0.1:1");
  EXPECT_EQ(splits[0].own_share, 9);
  EXPECT_EQ(splits[0].memory.total, 300u);
  EXPECT_EQ(splits[0].memory.dynamic, 50u);
  engine().finish_load();
  EXPECT_THAT(take_lines(), ElementsAre("started 1"));
  const auto all = report();
  ASSERT_EQ(all.instances.size(), 1u);
  EXPECT_TRUE(all.instances[0].view.lent);
  EXPECT_EQ(all.instances[0].view.leases, 0u) << "it is a model like any other";
  EXPECT_TRUE(acquire("a").granted());
  EXPECT_THAT(backend.servers(), IsEmpty());
}

TEST_F(RouterGroupProcessesTest, ThePlansContextIsGivenAsFarAsTheFileAllows) {
  auto order = engine_order(1);
  order.context = 4096;
  start(order);
  EXPECT_EQ(engine().options().ctx_size, 4096);
  engine().die();
  settle();
  order.of = term(2);
  order.context = std::uint64_t{1} << 40;  // other nodes say what a plan is made of
  start(order);
  EXPECT_EQ(engine().options().ctx_size, 8192);
}

TEST_F(RouterGroupProcessesTest, OneThatTheOwnerAskedForIsHis) {
  auto order = engine_order(1);
  order.by_owner = true;
  start(std::move(order));
  engine().finish_load();
  EXPECT_THAT(take_lines(), ElementsAre("started 1"));
  EXPECT_FALSE(report().instances.at(0).view.lent);
}

TEST_F(RouterGroupProcessesTest, WhatIsInMemoryAloneMakesRoomOnlyForItsOwnersWord) {
  have("a");
  EXPECT_THAT(start(engine_order(1)), ElementsAre("ended 1 failed"));
  EXPECT_THAT(reports.whys.back(), HasSubstr("unsplit"));
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
  auto order = engine_order(2);
  order.by_owner = true;
  start(std::move(order));
  EXPECT_THAT(backend.alive(), IsEmpty());
  engine().finish_load();
  EXPECT_THAT(take_lines(), ElementsAre("started 2"));
}

TEST_F(RouterGroupProcessesTest, AModelThatIsntHereAnyMore) {
  EXPECT_THAT(start(engine_order(1, "gone")), ElementsAre("ended 1 failed"));
}

TEST_F(RouterGroupProcessesTest, AnotherVersionOfLlamaIsNamed) {
  auto order = engine_order(1);
  order.parts[0].llama = "9.8";
  EXPECT_THAT(start(std::move(order)), ElementsAre("ended 1 failed"));
  EXPECT_THAT(reports.whys.back(), testing::AllOf(HasSubstr("'w'"), HasSubstr("9.8"), HasSubstr("9.9")));
  EXPECT_THAT(engines, IsEmpty());
}

TEST_F(RouterGroupProcessesTest, APlanThatMakesNoSenseIsRefused) {
  auto no_parts = engine_order(1);
  no_parts.parts.clear();
  EXPECT_THAT(start(std::move(no_parts)), ElementsAre("ended 1 failed"));
  auto huge = engine_order(2);
  huge.own_bytes = std::uint64_t{1} << 63;
  EXPECT_THAT(start(std::move(huge)), ElementsAre("ended 2 failed"));
  EXPECT_THAT(engines, IsEmpty());
}

TEST_F(RouterGroupProcessesTest, ALoadThatFailsIsTold) {
  start(engine_order(1));
  engine().fail_load(Error(make_error_code(backends::errc::load_crashed), "nobody at 127.0.0.1:1"));
  EXPECT_THAT(take_lines(), ElementsAre("ended 1 failed"));
  EXPECT_THAT(reports.whys.back(), HasSubstr("nobody at"));
  EXPECT_TRUE(acquire("a").done() == false) << "nobody holds the model any more";
}

TEST_F(RouterGroupProcessesTest, ALoadThatDoesntFitIsTold) {
  sampler.available = 200;
  EXPECT_THAT(start(engine_order(1)), ElementsAre("ended 1 failed"));
  EXPECT_THAT(reports.whys.back(), HasSubstr("needs"));
}

TEST_F(RouterGroupProcessesTest, AnEngineThatDiesHasCrashed) {
  have_engine(1);
  engine().die();
  EXPECT_THAT(take_lines(), ElementsAre("ended 1 crashed"));
  EXPECT_THAT(reports.whys.back(), HasSubstr("signal 9"));
}

TEST_F(RouterGroupProcessesTest, OneThatDiesUnderRequestsHasCrashedToo) {
  have_engine(1);
  auto lease = have_lease("a");
  engine().die();
  EXPECT_THAT(take_lines(), ElementsAre("ended 1 crashed"));
}

// A worker that died under two engines kept requests off that had nothing to do with it.
TEST_F(RouterGroupProcessesTest, NoRequestIsKeptOffForAWorkerOrALinkThatEnded) {
  processes->hold("a", true);
  for (const bool broke : {true, false}) {
    const auto body = fmt::format(R"({{"prompt":{}}})", broke);
    for (int round = 0; round < 4; ++round) {
      auto order = engine_order(static_cast<std::uint64_t>(10 * broke + round));
      const auto broken = std::make_shared<std::atomic<bool>>(false);
      order.parts.front().broken = broken;
      start(std::move(order));
      engine().finish_load();
      settle();
      auto asked = forward("a", false, body);
      *broken = broke;
      engine().die();
      pass(3'000ms);
      ASSERT_TRUE(asked.done());
      const bool off = asked.get().body.text().contains("request_ended_backend");
      EXPECT_EQ(off, !broke && round >= 2) << broke << round << asked.get().body.text();
    }
  }
  processes->hold("a", false);
}

TEST_F(RouterGroupProcessesTest, OneThatIsUnloadedIsGivenUp) {
  have_engine(1);
  auto unloaded = unload("a");
  EXPECT_TRUE(unloaded.granted());
  EXPECT_THAT(take_lines(), ElementsAre("ended 1 given up"));
}

TEST_F(RouterGroupProcessesTest, OneThatItsOwnerNeedsTheMemoryOfIsGivenUp) {
  have_engine(1);
  sampler.available = 300;
  auto own = acquire("b");
  EXPECT_THAT(take_lines(), ElementsAre("ended 1 given up"));
}

TEST_F(RouterGroupProcessesTest, OneThatNobodyUsesIsGivenUpInTime) {
  have_engine(1);
  pass(29min, 10s);
  EXPECT_THAT(take_lines(), IsEmpty());
  pass(2min, 10s);
  EXPECT_THAT(take_lines(), ElementsAre("ended 1 given up"));
}

TEST_F(RouterGroupProcessesTest, ItIsStoppedAtOnceWhateverRunsOnIt) {
  have_engine(1);
  auto lease = have_lease("a");
  EXPECT_THAT(stop(1), ElementsAre("ended 1 asked"));
  EXPECT_FALSE(engine().alive());
  EXPECT_THAT(stop(1), IsEmpty()) << "once";
}

TEST_F(RouterGroupProcessesTest, ItsRequestsGetTheCauseOfAStop) {
  have_engine(1);
  auto response = forward("a", true);
  engine().request().send("data: 1\n\n");
  settle();
  auto client = reader(response);
  stop(1, lost_part("den"));
  pass(3'000ms);
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.text(), HasSubstr("the backend of 'a' ended while it worked on this request (the connection to "
                                       "den, which computes a part of the model, is lost)"));
}

TEST_F(RouterGroupProcessesTest, RequestsOfAnEngineThatEndedWithAWorkerLearnWhichNodeIsLost) {
  auto order = engine_order(1);
  const auto broken = std::make_shared<std::atomic<bool>>(false);
  order.parts.front().broken = broken;
  start(std::move(order));
  engine().finish_load();
  settle();
  auto response = forward("a", true);
  engine().request().send("data: 1\n\n");
  settle();
  auto client = reader(response);
  *broken = true;
  engine().die();
  pass(3'000ms);
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.text(), HasSubstr("the backend of 'a' ended while it worked on this request (the connection to w, "
                                       "which computes a part of the model, is lost)"));
}

TEST_F(RouterGroupProcessesTest, ItIsStoppedInTheMiddleOfItsLoad) {
  start(engine_order(1));
  EXPECT_THAT(stop(1), ElementsAre("ended 1 asked"));
  EXPECT_FALSE(engine().alive());
  EXPECT_THAT(report().instances, IsEmpty());
  EXPECT_FALSE(report().snapshot.loading);
}

TEST_F(RouterGroupProcessesTest, ItIsStoppedBeforeItsLoadBegins) {
  processes->start_engine(engine_order(1));
  processes->stop_engine(content(1), term(1), {});
  EXPECT_THAT(take_lines(), ElementsAre("ended 1 asked"));
  EXPECT_EQ(processes->leftovers(), 0u);
}

TEST_F(RouterGroupProcessesTest, ARequestThatWaitsForItsLoadIsToldWhenItIsStopped) {
  start(engine_order(1));
  auto waiting = acquire("a");
  EXPECT_FALSE(waiting.done());
  stop(1);
  ASSERT_TRUE(waiting.refused());
  EXPECT_EQ(waiting.error().code, residency::errc::not_here);
}

TEST_F(RouterGroupProcessesTest, ADrainLetsRequestsFinishAndBeginsNone) {
  have_engine(1);
  auto lease = have_lease("a");
  EXPECT_THAT(drain(1), IsEmpty());
  EXPECT_TRUE(acquire("a").refused());
  drop(std::move(lease));
  EXPECT_THAT(take_lines(), ElementsAre("drained 1", "ended 1 asked"));
  EXPECT_THAT(backend.servers(), IsEmpty()) << "nobody loads it alone meanwhile";
}

TEST_F(RouterGroupProcessesTest, ADrainCutsOffWhatTakesLonger) {
  have_engine(1);
  auto lease = have_lease("a");
  EXPECT_THAT(drain(1, 2000ms), IsEmpty());
  pass(1900ms);
  EXPECT_THAT(take_lines(), IsEmpty());
  pass(200ms);
  EXPECT_THAT(take_lines(), ElementsAre("drained 1", "ended 1 asked"));
  EXPECT_FALSE(engine().alive());
}

TEST_F(RouterGroupProcessesTest, AStopEndsADrain) {
  have_engine(1);
  auto lease = have_lease("a");
  drain(1, 60'000ms);
  EXPECT_THAT(stop(1), ElementsAre("drained 1", "ended 1 asked"));
  pass(60'000ms, 1000ms);
  EXPECT_THAT(take_lines(), IsEmpty());
}

TEST_F(RouterGroupProcessesTest, ADrainOfOneThatLoadsEndsIt) {
  start(engine_order(1));
  EXPECT_THAT(drain(1), ElementsAre("drained 1", "ended 1 asked"));
}

TEST_F(RouterGroupProcessesTest, OneThatDiesWhileItDrainsWasAskedTo) {
  have_engine(1);
  auto lease = have_lease("a");
  drain(1, 60'000ms);
  engine().die();
  EXPECT_THAT(take_lines(), ElementsAre("drained 1", "ended 1 asked"));
  pass(60'000ms, 1000ms);
  EXPECT_THAT(take_lines(), IsEmpty());
}

TEST_F(RouterGroupProcessesTest, ThePlanMayBeStartedAgainWithAnotherTerm) {
  have_engine(1);
  engine().die();
  EXPECT_THAT(take_lines(), ElementsAre("ended 1 crashed"));
  EXPECT_THAT(have_engine(2), ElementsAre("started 2"));
  EXPECT_EQ(engines.size(), 2u) << "a process of its own";
}

TEST_F(RouterGroupProcessesTest, ProgressIsTold) {
  start(engine_order(1));
  engine().progress(0.5);
  pass(1000ms);
  EXPECT_THAT(reports.progress, ElementsAre("1: 0.5"));
}

TEST_F(RouterGroupProcessesTest, AHeldModelIsLoadedByNoRequestUntilItIsLetGo) {
  processes->hold("a", true);
  settle();
  EXPECT_TRUE(acquire("a").refused());
  processes->hold("a", false);
  settle();
  EXPECT_FALSE(acquire("a").done());
}

TEST_F(RouterGroupProcessesTest, AModelStaysHeldBetweenTwoEnginesOfItsGroup) {
  processes->hold("a", true);
  have_engine(1);
  engine().die();
  take_lines();
  EXPECT_TRUE(acquire("a").refused());
}

// ---- who listens

TEST_F(RouterGroupProcessesTest, WhenNobodyListensAnyMoreEverythingEndsUnheard) {
  have_engine(1);
  processes->open_worker(worker_order(1));
  settle();
  worker().finish_load();
  take_lines();
  processes->listen(loop.executor(), nullptr);
  EXPECT_THAT(take_lines(), IsEmpty());
  EXPECT_FALSE(engine().alive());
  EXPECT_FALSE(worker().alive());
  processes->open_worker(worker_order(2));
  EXPECT_THAT(take_lines(), IsEmpty()) << "nobody gives orders";
  EXPECT_EQ(workers.size(), 1u);
}

TEST_F(RouterGroupProcessesTest, WhoListensNextHearsOfItsOwnOrdersOnly) {
  have_engine(1);
  HouseReports next;
  processes->listen(loop.executor(), &next);
  processes->start_engine(engine_order(2));
  settle();
  ASSERT_EQ(engines.size(), 2u);
  engine().finish_load();
  settle();
  EXPECT_THAT(next.take(), ElementsAre("started 2"));
  EXPECT_THAT(reports.take(), IsEmpty());
  processes->listen(loop.executor(), nullptr);
  settle();
}

TEST_F(RouterGroupProcessesTest, TheEndOfTheServerEndsAll) {
  have_engine(1);
  processes->open_worker(worker_order(1));
  settle();
  worker().finish_load();
  take_lines();
  auto stopped = run(processes->stop());
  EXPECT_TRUE(stopped.done());
  EXPECT_FALSE(engine().alive());
  EXPECT_FALSE(worker().alive());
  processes->start_engine(engine_order(2));
  settle();
  EXPECT_EQ(engines.size(), 1u);
}

}  // namespace
}  // namespace corral::fleet
