// Loading, unloading, pinning and stopping by hand, through the shell.
#include "residency/errors.h"
#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

using ControlTest = RouterTest;

backends::LoadOptions context_of(std::int64_t tokens) {
  backends::LoadOptions options;
  options.ctx_size = tokens;
  return options;
}

TEST_F(ControlTest, LoadOfAResidentModelWithEqualOptionsDoesNothing) {
  have("a");
  auto again = load("a");
  ASSERT_TRUE(again.granted());
  EXPECT_TRUE(again.get().value());
  EXPECT_EQ(backend.loads("a"), 1u);
}

TEST_F(ControlTest, LoadWithOtherOptionsReloadsAndKeepsThePin) {
  auto first = load("a", context_of(1024), true);
  server("a").finish_load();
  settle();
  auto second = load("a", context_of(2048));
  EXPECT_FALSE(second.done());
  EXPECT_EQ(backend.loads("a"), 2u);
  EXPECT_EQ(server("a").options().ctx_size, 2048);
  server("a").finish_load();
  settle();
  ASSERT_TRUE(second.granted());
  EXPECT_FALSE(second.get().value());
  EXPECT_TRUE(report().instances.at(0).view.pinned);
}

// A pinned model returned only with its next request after a restart.
TEST_F(ControlTest, APreloadEvictsNothing) {
  have("a");
  auto refused = run(router->preload(model("b")));
  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.error().code, residency::errc::needs_eviction);
  EXPECT_EQ(backend.loads("b"), 0u);
  auto again = run(router->preload(model("a")));
  EXPECT_TRUE(again.granted());
  EXPECT_EQ(backend.loads("a"), 1u);
}

TEST_F(ControlTest, ReloadWaitsForTheRequestsThatRun) {
  auto lease = have_lease("a");
  auto reload = load("a", context_of(2048));
  pass(5000ms);
  EXPECT_EQ(backend.loads("a"), 1u);
  drop(std::move(lease));
  EXPECT_EQ(backend.loads("a"), 2u);
  server("a").finish_load();
  settle();
  EXPECT_TRUE(reload.granted());
}

TEST_F(ControlTest, ALoweredLimitEvictsWhoIsIdleLeastRecentlyUsedFirst) {
  start(slots(3));
  for (const char* name : {"a", "b", "c"}) have(name);
  auto busy = have_lease("a");
  drop(have_lease("b"));
  router->change(slots(2));
  settle();
  EXPECT_THAT(resident(), ElementsAre("a", "b"));
  router->change(slots(1));
  settle();
  EXPECT_THAT(resident(), ElementsAre("a")) << "the busy one stays, the idle one goes";
  router->change(slots(3));
  have("c");
  EXPECT_THAT(resident(), ElementsAre("a", "c"));
}

TEST_F(ControlTest, ChangedDefaultsCountForTheNextLoad) {
  have("a");
  auto changed = slots(2);
  changed.default_options.ctx_size = 512;
  router->change(changed);
  EXPECT_EQ(server("a").options().ctx_size, -1);
  have("b");
  EXPECT_EQ(server("b").options().ctx_size, 512);
}

TEST_F(ControlTest, ConfiguredOptionsFillWhatALoadLeavesOpen) {
  RouterOptions options;
  options.default_options.ctx_size = 512;
  options.default_options.threads = 3;
  start(options);
  auto loaded = load("a", context_of(4096));
  EXPECT_EQ(server("a").options().ctx_size, 4096);
  EXPECT_EQ(server("a").options().threads, 3);
  EXPECT_EQ(server("a").options().parallel, 16);
  server("a").finish_load();
  settle();
  EXPECT_TRUE(loaded.granted());
}

TEST_F(ControlTest, ProgressOfALoadCanBeAsked) {
  auto loaded = load("a");
  server("a").progress(0.25);
  EXPECT_EQ(run(router->progress(ModelName("a"))).get(), 0.25);
  EXPECT_EQ(run(router->progress(ModelName("b"))).get(), std::nullopt);
  EXPECT_EQ(report().load_progress, 0.25);
  EXPECT_THAT(report().instances, IsEmpty());
  server("a").finish_load();
  settle();
  EXPECT_EQ(run(router->progress(ModelName("a"))).get(), std::nullopt);
  EXPECT_EQ(report().instances.at(0).facts.pid, 4711);
}

// ---- unload

TEST_F(ControlTest, UnloadOfAnIdleModel) {
  have("a");
  EXPECT_TRUE(unload("a").granted());
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(ControlTest, UnloadOfWhatIsNotLoadedIsAnError) {
  auto refused = unload("a");
  ASSERT_TRUE(refused.refused());
  EXPECT_EQ(refused.error().code, residency::errc::not_loaded);
}

TEST_F(ControlTest, UnloadInUseWaitsForTheRequestsAndNewOnesWaitBehindIt) {
  auto lease = have_lease("a");
  auto unloaded = unload("a");
  EXPECT_FALSE(unloaded.done());
  auto late = acquire("a");
  EXPECT_FALSE(late.done());
  drop(std::move(lease));
  EXPECT_TRUE(unloaded.granted());
  EXPECT_EQ(backend.loads("a"), 2u);
  server("a").finish_load();
  settle();
  EXPECT_TRUE(late.granted());
}

TEST_F(ControlTest, UnloadWhileLoadingServesTheWaitersFirst) {
  auto a = acquire("a");
  auto unloaded = unload("a");
  server("a").finish_load();
  settle();
  ASSERT_TRUE(a.granted());
  EXPECT_FALSE(unloaded.done());
  drop(a.take());
  EXPECT_TRUE(unloaded.granted());
}

TEST_F(ControlTest, UnloadInTheTurnInWhichALoadEnds) {
  auto loaded = load("a");
  auto unloaded = unload("a");
  server("a").finish_load();
  settle();
  EXPECT_TRUE(loaded.granted());
  EXPECT_TRUE(unloaded.granted());
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(ControlTest, UnloadThatNobodyWaitsForGoesOnAllTheSame) {
  auto lease = have_lease("a");
  auto unloaded = unload("a");
  unloaded.cancel();
  settle();
  EXPECT_FALSE(unloaded.running());
  drop(std::move(lease));
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(ControlTest, UnloadOfAServerThatDiesMeanwhileIsDone) {
  auto lease = have_lease("a");
  auto unloaded = unload("a");
  server("a").die();
  settle();
  EXPECT_TRUE(unloaded.granted());
}

TEST_F(ControlTest, ServerThatDiesInTheTurnOfItsUnload) {
  have("a");
  backend.stop_at_once = false;
  auto unloaded = unload("a");
  EXPECT_FALSE(unloaded.done());
  server("a").die();
  server("a").let_stop();
  settle();
  EXPECT_TRUE(unloaded.granted());
}

TEST_F(ControlTest, UnloadAllNamesWhatWentAndWhatStillDrains) {
  start(slots(3));
  have("a");
  have("b");
  auto lease = have_lease("c");
  auto all = run(router->unload_all());
  ASSERT_TRUE(all.granted());
  EXPECT_THAT(all.get()->unloaded, testing::UnorderedElementsAre(ModelName("a"), ModelName("b")));
  EXPECT_THAT(all.get()->draining, ElementsAre(ModelName("c")));
  EXPECT_THAT(backend.alive(), ElementsAre("c"));
  drop(std::move(lease));
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(ControlTest, UnloadAllStopsAllSideBySide) {
  start(slots(5));
  const auto names = {"a", "b", "c", "d", "e"};
  for (const char* name : names) have(name);
  backend.stop_at_once = false;
  auto all = run(router->unload_all());
  for (const char* name : names) EXPECT_THAT(server(name).stops(), SizeIs(1)) << name << " waits for another to end";
  EXPECT_THAT(backend.alive(), SizeIs(5));
  for (const char* name : {"e", "c", "a", "b"}) server(name).let_stop();
  settle();
  EXPECT_FALSE(all.done());
  server("d").let_stop();
  settle();
  ASSERT_TRUE(all.granted());
  EXPECT_THAT(all.get()->unloaded, SizeIs(5));
}

TEST_F(ControlTest, UnloadAllOfNothing) {
  auto all = run(router->unload_all());
  ASSERT_TRUE(all.granted());
  EXPECT_THAT(all.get()->unloaded, IsEmpty());
}

// ---- pins

TEST_F(ControlTest, PinnedModelKeepsItsSlotAndTheOtherRequestIsToldAtOnce) {
  have("a");
  EXPECT_TRUE(run(router->pin(ModelName("a"), true)).granted());
  auto b = acquire("b");
  ASSERT_TRUE(b.refused());
  EXPECT_EQ(b.error().code, residency::errc::slots_pinned);
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
  EXPECT_TRUE(run(router->pin(ModelName("a"), false)).granted());
  auto c = acquire("c");
  EXPECT_THAT(backend.alive(), ElementsAre("c"));
  server("c").finish_load();
  settle();
}

TEST_F(ControlTest, PinOfWhatIsNotLoadedIsAnError) {
  auto refused = run(router->pin(ModelName("a"), true));
  ASSERT_TRUE(refused.refused());
  EXPECT_EQ(refused.error().code, residency::errc::not_loaded);
}

TEST_F(ControlTest, PinSurvivesACrash) {
  have("a");
  run(router->pin(ModelName("a"), true));
  server("a").die();
  settle();
  have("a");
  EXPECT_TRUE(report().instances.at(0).view.pinned);
  EXPECT_EQ(report().snapshot.pinned[index_of(ModelType::llm)], 1u);
}

// ---- totals

TEST_F(ControlTest, TotalsCountWhatBackendsReport) {
  have("a");
  server("a").report({.input_tokens = 10, .output_tokens = 5, .cached_tokens = 2});
  server("a").report({.input_tokens = 1, .output_tokens = 1});
  const auto totals = run(router->totals()).get();
  EXPECT_EQ(totals.requests, 2u);
  EXPECT_EQ(totals.input_tokens, 11u);
  EXPECT_EQ(totals.output_tokens, 6u);
  EXPECT_EQ(totals.cached_tokens, 2u);
  EXPECT_EQ(totals.last->input_tokens, 1u);
}

// ---- shutdown

TEST_F(ControlTest, StopRefusesTheQueueAbortsTheLoadAndStopsWhatIsIdle) {
  model("e", ModelType::embedding);
  have("e");
  auto loading = acquire("a");
  auto queued = acquire("b");
  auto stopped = run(router->stop(Millis(1000)));
  settle();
  EXPECT_TRUE(stopped.done());
  for (auto* request : {&loading, &queued}) {
    ASSERT_TRUE(request->refused());
    EXPECT_EQ(request->error().code, residency::errc::shutting_down);
  }
  EXPECT_THAT(backend.alive(), IsEmpty());
  EXPECT_TRUE(acquire("a").refused());
}

TEST_F(ControlTest, StopLetsRunningRequestsFinish) {
  have("a");
  auto response = forward("a");
  auto stopped = run(router->stop(Millis(60'000)));
  pass(10'000ms);
  EXPECT_FALSE(stopped.done());
  server("a").request().answer(200, "{}");
  settle();
  EXPECT_EQ(response.get().head.status, 200u);
  EXPECT_TRUE(stopped.done());
}

TEST_F(ControlTest, StopCutsAtItsDeadline) {
  have("a");
  auto response = forward("a", true);
  server("a").request().send("data: 1\n\n");
  settle();
  auto client = reader(response);
  auto stopped = run(router->stop(Millis(1000)));
  pass(900ms);
  EXPECT_FALSE(stopped.done());
  pass(200ms);
  EXPECT_TRUE(stopped.done());
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.text(), HasSubstr("error"));
  EXPECT_THAT(backend.alive(), IsEmpty());
}

TEST_F(ControlTest, StopCutsABackendThatDoesNotHeedItsOrderToo) {
  backend.stop_at_once = false;
  have("a");
  auto b = acquire("b");
  EXPECT_THAT(server("a").stops(), ElementsAre(5000ms));
  auto stopped = run(router->stop(Millis(1000)));
  EXPECT_TRUE(b.refused());
  EXPECT_FALSE(stopped.done());
  pass(1100ms);
  EXPECT_THAT(server("a").stops(), ElementsAre(5000ms, 0ms));
  server("a").let_stop();  // the first order is heeded when the second has been already
  settle();
  EXPECT_TRUE(stopped.done());
}

TEST_F(ControlTest, SecondStopIsHarmless) {
  have("a");
  EXPECT_TRUE(run(router->stop(Millis(10))).done());
  EXPECT_TRUE(run(router->stop(Millis(10))).done());
}

}  // namespace
}  // namespace corral::router
