// What contexts models have, and requests that want a larger one.
#include "router/base/errors.h"
#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

class ContextTest : public RouterTest {
 protected:
  // Trained with 131,072 tokens.
  backends::ModelPtr agent(const std::string& name) {
    auto& known = agents_[name];
    if (!known) {
      auto made = std::make_shared<models::ModelInfo>(*model(name));
      made->traits.context_length = 131'072;
      known = made;
    }
    return known;
  }
  auto acquire(const std::string& name, std::uint64_t tokens, bool may_reload = true) {
    return run(router->acquire(agent(name), {.context = {tokens, may_reload}}));
  }
  ModelContext context(const std::string& name) {
    return std::move(run(router->contexts({agent(name)})).get()).front();
  }
  static backends::LoadOptions ctx_size(std::int64_t tokens) {
    backends::LoadOptions options;
    options.ctx_size = tokens;
    return options;
  }

 private:
  std::map<std::string, backends::ModelPtr> agents_;
};

TEST_F(ContextTest, ARequestLoadsAtLeastWhatItWants) {
  auto lease = acquire("a", 16'384);
  EXPECT_EQ(server("a").options().ctx_size, 16'384);
  server("a").finish_load();
  settle();
  ASSERT_TRUE(lease.granted());
  EXPECT_EQ(lease.get()->context_window(), 16'384u);
}

TEST_F(ContextTest, WhatWouldBeLoadedAnywayMayBeEnough) {
  auto lease = acquire("a", 1024);
  EXPECT_EQ(server("a").options().ctx_size, -1);
  server("a").finish_load();
  settle();
  EXPECT_TRUE(lease.granted());
}

TEST_F(ContextTest, ASmallerOneDoesNotReload) {
  auto loading = run(router->load(agent("a"), ctx_size(8192), {}));
  server("a").finish_load();
  settle();
  ASSERT_TRUE(loading.granted());
  auto lease = acquire("a", 4096);
  ASSERT_TRUE(lease.granted());
  EXPECT_EQ(backend.loads("a"), 1u);
}

TEST_F(ContextTest, ALargerOneReloadsAsALoadWould) {
  backends::LoadOptions options = ctx_size(4096);
  options.parallel = 3;
  auto loading = run(router->load(agent("a"), options, true));
  server("a").finish_load();
  settle();
  ASSERT_TRUE(loading.granted());
  auto running = acquire("a", 0);
  ASSERT_TRUE(running.granted());

  auto lease = acquire("a", 32'768);
  EXPECT_EQ(backend.loads("a"), 1u) << "a request runs on it";
  drop(running.take());
  ASSERT_EQ(backend.loads("a"), 2u);
  EXPECT_EQ(server("a").options().ctx_size, 32'768);
  EXPECT_EQ(server("a").options().parallel, 3) << "what else the load said still counts";
  server("a").finish_load();
  settle();
  ASSERT_TRUE(lease.granted());
  EXPECT_EQ(lease.get()->context_window(), 32'768u);
  EXPECT_TRUE(report().instances.front().view.pinned);
}

TEST_F(ContextTest, MoreThanTheModelWasTrainedWithIsRefusedAndCostsNobodyAnything) {
  have("b");
  auto lease = acquire("a", 200'000);
  ASSERT_TRUE(lease.refused());
  EXPECT_EQ(lease.error().code, backends::errc::invalid_option);
  EXPECT_EQ(lease.error().param, "ctx_size");
  EXPECT_THAT(lease.error().message, HasSubstr("131072"));
  EXPECT_THAT(resident(), ElementsAre("b"));
}

TEST_F(ContextTest, WhoDoesntDecideHowModelsAreLoadedGetsWhatTheModelWouldBeGivenByItself) {
  backend.usual_context = 8192;
  for (const std::uint64_t tokens : {8193u, 131'072u}) {
    auto more = acquire("a", tokens, false);
    ASSERT_TRUE(more.refused());
    EXPECT_EQ(more.error().code, errc::context_not_yours);
    EXPECT_EQ(kind_of(more.error().code), ErrorKind::forbidden);
    EXPECT_EQ(more.error().param, "ctx_size");
    EXPECT_THAT(more.error().message, HasSubstr("8192"));
  }
  EXPECT_THAT(backend.servers(), IsEmpty());
  auto enough = acquire("a", 8192, false);
  server("a").finish_load();
  settle();
  ASSERT_TRUE(enough.granted());
  EXPECT_EQ(server("a").options().ctx_size, -1);
}

TEST_F(ContextTest, OnesOwnLoadIsNotUndoneByWhoDoesntDecide) {
  backend.usual_context = 32'768;
  auto loading = run(router->load(agent("a"), ctx_size(4096), {}));
  server("a").finish_load();
  settle();
  ASSERT_TRUE(loading.granted());
  auto refused = acquire("a", 4097, false);
  ASSERT_TRUE(refused.refused());
  EXPECT_THAT(refused.error().message, HasSubstr("4096"));
  EXPECT_EQ(backend.loads("a"), 1u);
  auto lease = acquire("a", 4096, false);
  EXPECT_TRUE(lease.granted());
}

TEST_F(ContextTest, AModelThatGotLittleIsGivenMoreWhenThereIsMore) {
  backend.usual_context = 2048;
  have("a");
  backend.usual_context = 16'384;
  auto lease = acquire("a", 8192, false);
  ASSERT_EQ(backend.loads("a"), 2u);
  EXPECT_EQ(server("a").options().ctx_size, 8192);
  server("a").finish_load();
  settle();
  ASSERT_TRUE(lease.granted());
  drop(lease.take());
  auto more = acquire("a", 16'384, false);
  EXPECT_EQ(backend.loads("a"), 3u) << "one request's wish is no limit for the next";
  server("a").finish_load();
  settle();
  EXPECT_TRUE(more.granted());
}

TEST_F(ContextTest, AModelThatStaysSmallerIsToldAndNotLoadedForEver) {
  backend.usual_context = 2048;
  backend.max_context = 4096;
  auto lease = acquire("a", 8192);
  for (int i = 0; i < 10 && !lease.done(); ++i) {
    server("a").finish_load();
    settle();
  }
  ASSERT_TRUE(lease.refused());
  EXPECT_THAT(lease.error().message, HasSubstr("4096"));
  EXPECT_LE(backend.loads("a"), 3u);
}

TEST_F(ContextTest, IsToldOfWhatIsLoadedAndOfWhatIsNot) {
  EXPECT_EQ(context("a").usable, 2048u);
  EXPECT_EQ(context("a").trained, 131'072u);
  auto loading = run(router->load(agent("a"), ctx_size(65'536), {}));
  server("a").finish_load();
  settle();
  EXPECT_EQ(context("a").usable, 65'536u);
  EXPECT_EQ(context("a").asked, 65'536);
}

TEST(ContextWarning, OnlyWhereMoreIsAskedForThanOneConversationCanHave) {
  EXPECT_EQ(warning_of({.usable = 2048, .trained = 2048, .asked = -1}), "");
  EXPECT_EQ(warning_of({.usable = 2048, .trained = 2048, .asked = 2048}), "");
  EXPECT_EQ(warning_of({.usable = 9000, .trained = 0, .asked = 9000}), "");
  EXPECT_THAT(warning_of({.usable = 2048, .trained = 2048, .asked = 4096}), HasSubstr("trained with"));
}

}  // namespace
}  // namespace corral::router
