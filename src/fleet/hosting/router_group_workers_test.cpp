// What workers of groups have done at this node: each order, each end, each exactly once.
#include "fleet/hosting/router_group_fixture_for_tests.h"

namespace corral::fleet {
namespace {

TEST_F(RouterGroupProcessesTest, AWorkerIsReadyWhenItSaysSoAndReapedWhenNothingIsLeft) {
  EXPECT_THAT(open(worker_order(1)), IsEmpty());
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares[0].bytes, 300u);
  EXPECT_EQ(shares[0].llama, "9.9");
  worker().finish_load();
  EXPECT_THAT(take_lines(), ElementsAre("ready 1 /run/share-1 9.9"));
  pass(2h, 1min);
  EXPECT_THAT(take_lines(), IsEmpty()) << "for as long as the grant lasts";
  EXPECT_THAT(reap(1), ElementsAre("reaped 1"));
  EXPECT_FALSE(worker().alive());
  EXPECT_THAT(report().shares, IsEmpty());
}

TEST_F(RouterGroupProcessesTest, AReapOfNothingIsAnswered) { EXPECT_THAT(reap(7), ElementsAre("reaped 7")); }

TEST_F(RouterGroupProcessesTest, AReapInTheMiddleOfTheStart) {
  open(worker_order(1));
  EXPECT_THAT(reap(1), ElementsAre("reaped 1"));
  EXPECT_FALSE(worker().alive());
  EXPECT_EQ(processes->leftovers(), 0u);
}

TEST_F(RouterGroupProcessesTest, AReapBeforeAnythingHasBegun) {
  processes->open_worker(worker_order(1));
  processes->reap_worker(node(2), term(1));
  EXPECT_THAT(take_lines(), ElementsAre("reaped 1"));
  EXPECT_EQ(processes->leftovers(), 0u);
}

TEST_F(RouterGroupProcessesTest, AReapWaitsForTheEndOfTheProcess) {
  have_worker(1);
  workers.back()->stop_at_once = false;
  processes->reap_worker(node(2), term(1));
  processes->reap_worker(node(2), term(1));
  EXPECT_THAT(take_lines(), IsEmpty());
  worker().let_stop();
  EXPECT_THAT(take_lines(), ElementsAre("reaped 1")) << "once";
  EXPECT_FALSE(worker().alive());
}

TEST_F(RouterGroupProcessesTest, AWorkerThatDiesHasFailedAndIsReapedAllTheSame) {
  have_worker(1);
  worker().die();
  EXPECT_THAT(take_lines(), ElementsAre("worker failed 1"));
  EXPECT_THAT(reports.whys.back(), HasSubstr("signal 9"));
  EXPECT_THAT(reap(1), ElementsAre("reaped 1"));
}

TEST_F(RouterGroupProcessesTest, AWorkerThatDiesAsItIsReapedIsReaped) {
  have_worker(1);
  processes->reap_worker(node(2), term(1));
  worker().die();
  EXPECT_THAT(take_lines(), AnyOf(ElementsAre("reaped 1"), ElementsAre("worker failed 1", "reaped 1")));
  EXPECT_EQ(processes->leftovers(), 0u);
}

TEST_F(RouterGroupProcessesTest, AWorkerThatDoesntStartHasFailed) {
  open(worker_order(1));
  worker().fail_load(Error(make_error_code(backends::errc::load_failed), "namespaces are forbidden here"));
  EXPECT_THAT(take_lines(), ElementsAre("worker failed 1"));
  EXPECT_THAT(reports.whys.back(), HasSubstr("namespaces are forbidden here"));
  EXPECT_EQ(workers.back()->servers().size(), 1u);
  EXPECT_THAT(reap(1), ElementsAre("reaped 1"));
}

TEST_F(RouterGroupProcessesTest, AWorkerThatIsNeverReadyHasFailedInTime) {
  open(worker_order(1));
  pass(7'900ms);
  EXPECT_THAT(take_lines(), IsEmpty());
  pass(200ms);
  EXPECT_THAT(take_lines(), ElementsAre("worker failed 1"));
  EXPECT_FALSE(worker().alive());
}

TEST_F(RouterGroupProcessesTest, AWorkerForWhichThereIsNoMemoryHasFailedAndSaysWhatIsShort) {
  sampler.available = 200;
  EXPECT_THAT(open(worker_order(1)), ElementsAre("worker failed 1"));
  EXPECT_THAT(reports.whys.back(), HasSubstr("needs"));
}

TEST_F(RouterGroupProcessesTest, BytesThatMakeNoSenseAreRefused) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0}})
    EXPECT_THAT(open(worker_order(bytes % 100 + 1, bytes)), SizeIs(1)) << bytes;
  EXPECT_THAT(workers, IsEmpty());
  EXPECT_EQ(processes->leftovers(), 0u);
}

TEST_F(RouterGroupProcessesTest, AHostWithAnotherVersionIsRefused) {
  auto order = worker_order(1);
  order.llama = "9.8";
  EXPECT_THAT(open(std::move(order)), ElementsAre("worker failed 1"));
  EXPECT_THAT(reports.whys.back(), HasSubstr("9.8"));
}

TEST_F(RouterGroupProcessesTest, TheOwnerGetsHisMemoryBack) {
  have_worker(1, 700);
  sampler.available = 300;
  auto own = acquire("a");
  EXPECT_THAT(take_lines(), ElementsAre("recalled 1"));
  EXPECT_TRUE(worker().alive()) << "its host has half a minute";
  EXPECT_THAT(reap(1), ElementsAre("reaped 1"));
  sampler.available = 1000;
  pass(300ms);
  server("a").finish_load();
  settle();
  EXPECT_TRUE(own.granted());
}

TEST_F(RouterGroupProcessesTest, ARecalledWorkerThatNobodyReapsIsStopped) {
  have_worker(1, 700);
  sampler.available = 300;
  auto own = acquire("a");
  EXPECT_THAT(take_lines(), ElementsAre("recalled 1"));
  pass(30'100ms);
  EXPECT_THAT(take_lines(), ElementsAre("worker failed 1"));
  EXPECT_FALSE(worker().alive());
}

TEST_F(RouterGroupProcessesTest, AWorkerWaitsForAnothersLoad) {
  auto peers = router::PeerLeaseProvider(*router, timers);
  auto other = run(peers.acquire(model("b"), {}));
  EXPECT_THAT(open(worker_order(1)), IsEmpty());
  EXPECT_THAT(workers.back()->servers(), IsEmpty());
  server("b").finish_load();
  pass(500ms);
  worker().finish_load();
  EXPECT_THAT(take_lines(), ElementsAre("ready 1 /run/share-1 9.9"));
}

TEST_F(RouterGroupProcessesTest, AWorkerDoesntWaitForItsOwnersLoad) {
  auto own = acquire("a");
  EXPECT_THAT(open(worker_order(1)), ElementsAre("worker failed 1"));
}

TEST_F(RouterGroupProcessesTest, OneAfterTheOtherNothingPilesUp) {
  for (std::uint64_t number = 1; number <= 200; ++number) {
    EXPECT_THAT(have_worker(number), SizeIs(1)) << number;
    EXPECT_THAT(reap(number), SizeIs(1));
    ASSERT_EQ(processes->leftovers(), 0u);
  }
  EXPECT_THAT(report().shares, IsEmpty());
  EXPECT_LE(run(router->metrics()).get().models.size(), 1u);
}

TEST_F(RouterGroupProcessesTest, TheNextHostsWorkerBeginsWhenTheLastOneIsGone) {
  have_worker(1);
  processes->reap_worker(node(2), term(1));
  processes->open_worker(worker_order(2, 300, 3));
  EXPECT_THAT(take_lines(), ElementsAre("reaped 1"));
  worker().finish_load();
  EXPECT_THAT(take_lines(), ElementsAre("ready 2 /run/share-2 9.9"));
}

}  // namespace
}  // namespace corral::fleet
