// Loads of one plan, over played processes.
#include "backends/split_backend.h"

#include "backends/engine_backend_fixture_for_tests.h"

namespace corral::backends {
namespace {

class SplitBackendTest : public EngineBackendFixture {
 protected:
  void plan() {
    split_.emplace(*backend_, EngineSplit{{{"w1", "127.0.0.1:1", 7}, {"w2", "127.0.0.1:2", 8}}, 9, {100, 30}});
  }
  void load_split(LoadOptions options = {}) {
    loaded_.reset();
    server_ = split_->create(model(), *split_->resolve(*model(), options));
    wait_for(run_load());
  }
  std::optional<SplitBackend> split_;
};

TEST_F(SplitBackendTest, TheEngineIsToldWhereTheOtherPartsAre) {
  start();
  plan();
  load_split();
  const auto order = *parse_engine_load(sent_to(0));
  ASSERT_EQ(order.remotes.size(), 2u);
  EXPECT_EQ(order.remotes[1].endpoint, "127.0.0.1:2");
  EXPECT_EQ(order.remotes[1].share, 8);
  EXPECT_EQ(order.own_share, 9);
  reply(0, EngineReady{4096, "", Device::cpu});
  ASSERT_TRUE(loaded_ && *loaded_);
  EXPECT_EQ(server_->facts().predicted->total(), 100u);
}

TEST_F(SplitBackendTest, ALoadThatIsntOfThePlanHasNoParts) {
  start();
  plan();
  load();
  EXPECT_TRUE(parse_engine_load(sent_to(0))->remotes.empty());
  reply(0, EngineReady{4096, "", Device::cpu});
}

// The spare has loaded nothing yet: it is as good as a new process.
TEST_F(SplitBackendTest, ItTakesTheSpareAndLeavesNobodyItsProcess) {
  start(true);
  plan();
  load_split();
  EXPECT_EQ(parse_engine_load(sent_to(0))->remotes.size(), 2u);
  reply(0, EngineReady{4096, "", Device::cpu});
  load();
  ASSERT_GE(spawner_.processes().size(), 2u);
  reply(1, EngineReady{4096, "", Device::cpu});
  EXPECT_TRUE(loaded_ && *loaded_);
}

TEST_F(SplitBackendTest, WhatItTakesIsThePlansWordHoweverLargeTheFile) {
  host_ = {.total = 1 << 20, .available = 1 << 20};
  start();
  plan();
  EXPECT_EQ(split_->known_estimate(*model(), {})->total(), 100u);
  EXPECT_EQ(split_->given_memory({}, {}, Device::cpu)->total, 100u);
  EXPECT_EQ(split_->given_memory({}, {}, Device::cpu)->dynamic, 30u);
  auto ask = [&]() -> async::Task<void> { fits_.emplace(co_await split_->preflight(model(), {})); };
  wait_for(ask());
  ASSERT_TRUE(fits_);
  EXPECT_TRUE(*fits_) << "the file alone would never fit";
  EXPECT_THAT(spawner_.processes(), IsEmpty()) << "nobody is asked";
}

// It would grow on the other machines, too.
TEST_F(SplitBackendTest, ItsContextDoesntGrow) {
  start();
  plan();
  EXPECT_GT(split_->resolve(*model(), {})->ctx_size, 0);
  LoadOptions options;
  options.ctx_size = 4321;
  EXPECT_EQ(split_->resolve(*model(), options)->ctx_size, 4321);
}

// It was that of all requests.
TEST_F(SplitBackendTest, ItsContextIsThatOfOneRequest) {
  start();
  plan();
  LoadOptions options;
  options.ctx_size = 2048;
  options.parallel = 2;
  EXPECT_EQ(split_->context(*model(), options, 0), 2048u);
  options.kv_unified = false;
  EXPECT_EQ(split_->context(*model(), options, 0), 1024u);
}

TEST_F(SplitBackendTest, AnEngineWhoseWorkerIsGoneSaysWhatThatMayBe) {
  start();
  plan();
  load_split();
  process(0).die(SIGABRT);
  settle();
  ASSERT_TRUE(loaded_ && !*loaded_);
  EXPECT_THAT(loaded_->error().message, HasSubstr("worker"));
}

}  // namespace
}  // namespace corral::backends
