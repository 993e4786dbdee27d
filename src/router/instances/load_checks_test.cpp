// What happens to a request between its arrival and the start of its load, through the shell: looks at files and needs.
#include "backends/errors.h"
#include "residency/errors.h"
#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

using LoadChecksTest = RouterTest;

// Each made a look and an estimate of its own, out of sight.
TEST_F(LoadChecksTest, AHundredRequestsForAModelMakeOneLook) {
  backend.silent_files = {"a"};
  std::vector<Pending<Result<Lease>>> requests;
  for (int i = 0; i < 100; ++i) requests.push_back(acquire("a"));
  EXPECT_EQ(backend.looks, 1u);
  const auto queue = report().snapshot.queue;
  ASSERT_THAT(queue, SizeIs(1));
  EXPECT_TRUE(queue[0].checking);
  EXPECT_EQ(queue[0].waiters, 100u);
  EXPECT_THAT(backend.servers(), IsEmpty());
}

TEST_F(LoadChecksTest, IsCancelledWithItsLastRequest) {
  backend.silent_files = {"a"};
  auto one = acquire("a");
  auto other = acquire("a");
  one.cancel();
  settle();
  EXPECT_THAT(report().snapshot.queue, SizeIs(1));
  other.cancel();
  settle();
  EXPECT_THAT(report().snapshot.queue, IsEmpty());
  EXPECT_EQ(router->leftovers(), "");
}

TEST_F(LoadChecksTest, OfADiskThatHangsHoldsUpNobodyElse) {
  backend.silent_files = {"a"};
  auto stuck = acquire("a");
  auto b = acquire("b");
  server("b").finish_load();
  settle();
  EXPECT_TRUE(b.granted());
}

TEST_F(LoadChecksTest, AFileThatWasReplacedEndsTheCoolDown) {
  backend.on_disk = 1;
  for (int i = 0; i < 2; ++i) {
    auto lease = acquire("a");
    for (int attempt = 0; attempt < 2; ++attempt) {
      server("a").fail_load(Error(make_error_code(backends::errc::load_failed), "it broke"));
      settle();
    }
    EXPECT_TRUE(lease.refused());
  }
  auto cooling = acquire("a");
  ASSERT_TRUE(cooling.refused());
  EXPECT_EQ(cooling.error().code, residency::errc::cooling_down);
  backend.on_disk = 2;
  auto lease = acquire("a");
  server("a").finish_load();
  settle();
  EXPECT_TRUE(lease.granted());
}

TEST_F(LoadChecksTest, WhatIsMissingIsToldAndEvictsNobody) {
  have("a");
  backend.missing_files = {"b"};
  auto b = acquire("b");
  ASSERT_TRUE(b.refused());
  EXPECT_EQ(b.error().code, backends::errc::model_file_not_found);
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
}

// Its victim was gone when the child found out.
TEST_F(LoadChecksTest, WhatGoesMissingWhileItsLoadWaitsIsFoundAtItsTurnAndEvictsNobody) {
  auto busy = have_lease("a");
  auto b = acquire("b");
  pass(1500ms);
  backend.missing_files = {"b"};
  drop(std::move(busy));
  ASSERT_TRUE(b.refused());
  EXPECT_EQ(b.error().code, backends::errc::model_file_not_found);
  EXPECT_THAT(backend.alive(), ElementsAre("a"));
  EXPECT_EQ(backend.loads("b"), 0u);
}

TEST_F(LoadChecksTest, ABackendThatThrowsFailsItsLoadAndNotTheHouse) {
  backend.unstartable = {"a"};
  auto a = acquire("a");
  ASSERT_TRUE(a.refused());
  EXPECT_EQ(a.error().code, errc::internal);
  auto b = acquire("b");
  server("b").finish_load();
  settle();
  EXPECT_TRUE(b.granted());
}

// It heard that the load for another waiter had failed.
TEST_F(LoadChecksTest, ARequestMidReloadIsServedThoughTheReloadFails) {
  auto busy = have_lease("a");
  backends::LoadOptions options;
  options.ctx_size = 99;
  auto reload = load("a", options);
  pass(2000ms);
  auto request = acquire("a");
  EXPECT_FALSE(request.done());
  drop(std::move(busy));
  server("a").fail_load({make_error_code(backends::errc::invalid_option), "no"});
  settle();
  EXPECT_TRUE(reload.refused());
  server("a").finish_load();
  settle();
  EXPECT_TRUE(request.granted());
}

// ---- models that end under requests

TEST_F(LoadChecksTest, AModelThatEndsUnderRequestsAgainAndAgainIsLeftAlone) {
  for (int i = 0; i < 3; ++i) {
    auto lease = have_lease("a");
    server("a").die("killed by signal 11 (SIGSEGV)");
    settle();
  }
  auto refused = acquire("a");
  ASSERT_TRUE(refused.refused());
  EXPECT_EQ(kind_of(refused.error().code), ErrorKind::unavailable);
  EXPECT_EQ(refused.error().retry_after, 10s);
  EXPECT_THAT(refused.error().message, HasSubstr("killed by signal 11 (SIGSEGV)"));
  EXPECT_EQ(backend.loads("a"), 3u);
  pass(10'000ms);
  auto again = have_lease("a");
}

}  // namespace
}  // namespace corral::router
