// Leases and residency through the shell: who loads, who waits, who goes.
#include "backends/errors.h"
#include "residency/errors.h"
#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

TEST_F(RouterTest, FirstRequestLoadsTheModelTheNextOnesFindIt) {
  auto first = acquire("a");
  EXPECT_FALSE(first.done());
  server("a").finish_load();
  settle();
  ASSERT_TRUE(first.granted());
  EXPECT_TRUE(first.get().value());

  auto second = acquire("a");
  EXPECT_TRUE(second.granted());
  EXPECT_EQ(backend.loads("a"), 1u);
  EXPECT_EQ(report().instances.at(0).view.leases, 2u);
}

TEST_F(RouterTest, LoadThatSucceedsAtOnceIsGranted) {
  backend.load_at_once = true;
  EXPECT_TRUE(acquire("a").granted());
  EXPECT_TRUE(acquire("b").granted());
  EXPECT_THAT(backend.alive(), ElementsAre("b"));
}

TEST_F(RouterTest, TwoModelsOfOneSlotAlternate) {
  for (int round = 0; round < 3; ++round) {
    for (const auto* name : {"a", "b"}) {
      auto lease = have_lease(name);
      EXPECT_THAT(backend.alive(), ElementsAre(name));
      drop(std::move(lease));
    }
  }
  EXPECT_EQ(backend.loads("a"), 3u);
  EXPECT_EQ(backend.loads("b"), 3u);
}

TEST_F(RouterTest, AnotherTypeKeepsItsSlot) {
  model("e", ModelType::embedding);
  have("e");
  have("a");
  have("b");
  EXPECT_THAT(backend.alive(), ElementsAre("e", "b"));
}

TEST_F(RouterTest, RequestsForOneModelCoalesceOnOneLoad) {
  std::vector<Pending<Result<Lease>>> requests;
  for (int i = 0; i < 5; ++i) requests.push_back(acquire("a"));
  EXPECT_EQ(backend.loads("a"), 1u);
  server("a").finish_load();
  settle();
  for (auto& request : requests) EXPECT_TRUE(request.granted());
  EXPECT_EQ(report().instances.at(0).view.leases, 5u);
}

TEST_F(RouterTest, WhoCausedTheLoadRunsBeforeItCanBeEvicted) {
  auto a = acquire("a");
  auto b = acquire("b");
  server("a").finish_load();
  settle();
  ASSERT_TRUE(a.granted());
  EXPECT_EQ(backend.loads("b"), 0u);
  EXPECT_THAT(backend.alive(), ElementsAre("a"));

  auto lease = a.take();
  drop(std::move(lease));
  EXPECT_EQ(backend.loads("b"), 1u);
  server("b").finish_load();
  settle();
  EXPECT_TRUE(b.granted());
}

TEST_F(RouterTest, RequestForAResidentModelNeverWaitsForAnotherLoad) {
  model("e", ModelType::embedding);
  have("a");
  auto loading = acquire("e");
  EXPECT_FALSE(loading.done());
  auto resident = acquire("a");
  EXPECT_TRUE(resident.granted());
  EXPECT_EQ(report().instances.size(), 1u);
}

TEST_F(RouterTest, BusyVictimTakesNewcomersForAWhileThenDrains) {
  auto old = have_lease("a");
  auto b = acquire("b");
  auto newcomer = acquire("a");
  EXPECT_TRUE(newcomer.granted());
  pass(3000ms);
  auto late = acquire("a");
  EXPECT_FALSE(late.done());
  EXPECT_EQ(backend.loads("b"), 0u);

  drop(std::move(old));
  auto held = newcomer.take();
  drop(std::move(held));
  EXPECT_THAT(backend.alive(), ElementsAre("b"));
  server("b").finish_load();
  settle();
  EXPECT_TRUE(b.granted());
  auto lease = b.take();
  drop(std::move(lease));
  server("a").finish_load();
  settle();
  EXPECT_TRUE(late.granted());
}

TEST_F(RouterTest, VictimIsGoneBeforeTheNextLoadStarts) {
  backend.stop_at_once = false;
  have("a");
  auto b = acquire("b");
  EXPECT_EQ(backend.loads("b"), 0u);
  EXPECT_THAT(server("a").stops(), ElementsAre(5000ms));
  server("a").let_stop();
  settle();
  EXPECT_EQ(backend.loads("b"), 1u);
  server("b").finish_load();
  settle();
  EXPECT_TRUE(b.granted());
}

// ---- clients that leave

TEST_F(RouterTest, ClientGoneWhileLoadingAbortsTheLoadAndTheQueueMovesOn) {
  auto a = acquire("a");
  auto b = acquire("b");
  a.cancel();
  settle();
  EXPECT_FALSE(a.running());
  EXPECT_FALSE(server("a").alive());
  server("b").finish_load();
  settle();
  EXPECT_TRUE(b.granted());
}

TEST_F(RouterTest, ClientGoneWhileQueuedLeavesTheQueue) {
  auto a = acquire("a");
  auto b = acquire("b");
  auto c = acquire("c");
  EXPECT_THAT(report().snapshot.queue, SizeIs(2));
  b.cancel();
  settle();
  EXPECT_THAT(report().snapshot.queue, SizeIs(1));
  server("a").finish_load();
  settle();
  a.cancel();  // too late to cancel; the lease goes with the variable
  auto lease = a.take();
  drop(std::move(lease));
  EXPECT_EQ(backend.loads("b"), 0u);
  EXPECT_EQ(backend.loads("c"), 1u);
}

TEST_F(RouterTest, LoadGoesOnWhileSomebodyElseWaitsForIt) {
  auto first = acquire("a");
  auto second = acquire("a");
  first.cancel();
  settle();
  EXPECT_TRUE(server("a").alive());
  server("a").finish_load();
  settle();
  EXPECT_TRUE(second.granted());
}

TEST_F(RouterTest, ClientGoneInTheTurnOfItsGrantGivesTheLeaseBack) {
  auto a = acquire("a");
  server("a").finish_load();
  a.cancel();
  settle();
  if (a.done()) drop(a.take());
  for (const auto& entry : report().instances) EXPECT_EQ(entry.view.leases, 0u);
}

TEST_F(RouterTest, ClientGoneRightAfterItsGrantGivesTheLeaseBack) {
  auto a = acquire("a");
  server("a").finish_load();
  while (report().instances.empty()) loop.context().poll_one();
  a.cancel();
  settle();
  if (a.done()) drop(a.take());
  EXPECT_EQ(report().instances.at(0).view.leases, 0u);
}

// ---- processes that end

TEST_F(RouterTest, IdleServerThatDiesLeavesAndIsLoadedByTheNextRequest) {
  have("a");
  server("a").die();
  settle();
  EXPECT_THAT(resident(), IsEmpty());
  auto again = have_lease("a");
  EXPECT_EQ(backend.loads("a"), 2u);
}

TEST_F(RouterTest, ServerThatDiesInUseLeavesAtOnceAndItsLeasesAreHarmless) {
  auto lease = have_lease("a");
  server("a").die();
  settle();
  EXPECT_THAT(resident(), IsEmpty());
  auto gone = run(lease.wait_for_exit());
  ASSERT_TRUE(gone.done());
  EXPECT_EQ(gone.get().how, "killed by signal 9 (SIGKILL)");
  auto next = have_lease("a");
  drop(std::move(lease));  // of the dead one
  EXPECT_EQ(report().instances.at(0).view.leases, 1u);
}

TEST_F(RouterTest, ServerThatDiesInTheTurnOfItsLoadIsLoadedOnceMore) {
  auto a = acquire("a");
  server("a").finish_load();
  server("a").die();
  settle();
  EXPECT_FALSE(a.done());
  EXPECT_EQ(backend.loads("a"), 2u);
  server("a").finish_load();
  server("a").die();
  settle();
  ASSERT_TRUE(a.refused());
  EXPECT_EQ(a.error().code, errc::backend_died);
}

TEST_F(RouterTest, ServerThatDiesWhileLoadingIsTriedOnceMoreThenItsCauseIsTheAnswer) {
  auto a = acquire("a");
  server("a").die("exited with code 3");
  settle();
  EXPECT_FALSE(a.done());
  EXPECT_EQ(backend.loads("a"), 2u);
  server("a").die("exited with code 4");
  settle();
  ASSERT_TRUE(a.refused());
  EXPECT_EQ(a.error().code, backends::errc::load_crashed);
  EXPECT_THAT(a.error().message, HasSubstr("exited with code 4"));
}

TEST_F(RouterTest, MissingFileIsToldWithoutASecondTryAndEvictsNobody) {
  start(slots(2));
  have("a");
  auto b = acquire("b");
  server("b").fail_load({make_error_code(backends::errc::model_file_not_found), "no file"});
  settle();
  ASSERT_TRUE(b.refused());
  EXPECT_EQ(b.error().code, backends::errc::model_file_not_found);
  EXPECT_EQ(backend.loads("b"), 1u);
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
}

TEST_F(RouterTest, LoadThatFailsOtherwiseIsRetriedWithEverybodyElseGone) {
  start(slots(2));
  have("a");
  auto b = acquire("b");
  server("b").fail_load({make_error_code(backends::errc::load_out_of_memory), "no memory"});
  settle();
  EXPECT_THAT(backend.alive(), ElementsAre("b"));
  server("b").finish_load();
  settle();
  EXPECT_TRUE(b.granted());
}

TEST_F(RouterTest, WhatPreflightRefusesLoadsAndEvictsNothing) {
  have("a");
  backend.refused.emplace("b", Error(make_error_code(backends::errc::invalid_option), "no", "ctx_size"));
  auto b = acquire("b");
  ASSERT_TRUE(b.refused());
  EXPECT_EQ(b.error().code, backends::errc::invalid_option);
  EXPECT_EQ(backend.loads("b"), 0u);
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
}

TEST_F(RouterTest, WhatNeverFitsLoadsAndEvictsNothing) {
  have("a");
  Error error(make_error_code(backends::errc::load_never_fits), "needs 9 of 8", "ctx_size");
  error.memory = {{"cpu", 9, 8}};
  backend.never_fit.emplace("b", error);
  auto b = acquire("b");
  ASSERT_TRUE(b.refused());
  EXPECT_EQ(b.error().code, backends::errc::load_never_fits);
  ASSERT_THAT(b.error().memory, SizeIs(1));
  auto loaded = run(router->load(backends::fake_model("b"), {}, {}));
  ASSERT_TRUE(loaded.refused());
  EXPECT_EQ(loaded.error().code, backends::errc::load_never_fits);
  EXPECT_EQ(backend.loads("b"), 0u);
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
}

TEST_F(RouterTest, LoadThatTurnsOutNeverToFitIsNotTriedAgainAndEvictsNobody) {
  start(slots(2));
  have("a");
  auto b = acquire("b");
  server("b").fail_load({make_error_code(backends::errc::load_never_fits), "needs 9 of 8"});
  settle();
  ASSERT_TRUE(b.refused());
  EXPECT_EQ(b.error().code, backends::errc::load_never_fits);
  EXPECT_EQ(backend.loads("b"), 1u);
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
}

TEST_F(RouterTest, EstimateLoadsNothing) {
  MemoryEstimate estimate;
  estimate.devices = {{.device = "cpu", .weights = 5}};
  backend.estimates["a"] = estimate;
  auto a = run(router->estimate(backends::fake_model("a"), {}));
  ASSERT_TRUE(a.granted());
  EXPECT_EQ(a.get(), estimate);
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(RouterTest, ModelOfAnUnknownRecipeIsRefused) {
  auto refused = run(router->acquire(backends::fake_model("x", ModelType::llm, "nonesuch")));
  ASSERT_TRUE(refused.refused());
  EXPECT_EQ(refused.error().code, errc::unknown_recipe);
}

TEST_F(RouterTest, LoadThatTakesTooLongIsKilled) {
  RouterOptions options;
  options.load_timeout = 10'000ms;
  start(options);
  auto a = acquire("a");
  pass(10'100ms);
  EXPECT_EQ(backend.loads("a"), 2u);
  EXPECT_FALSE(backend.servers().front()->alive());
  pass(10'100ms);
  ASSERT_TRUE(a.refused());
  EXPECT_EQ(a.error().code, residency::errc::load_deadline);
}

}  // namespace
}  // namespace corral::router
