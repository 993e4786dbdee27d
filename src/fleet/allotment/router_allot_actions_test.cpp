// What the allotter has done at a router: each order is answered, whatever becomes of it.
#include "fleet/allotment/router_allot_actions.h"

#include <stdexcept>

#include "fleet/base/errors.h"
#include "models/errors.h"
#include "router/group_fixture_for_tests.h"

namespace corral::fleet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class RouterAllotActionsTest : public router::GroupRouterTest {
 protected:
  void SetUp() override {
    GroupRouterTest::SetUp();
    actions.emplace(loop, loop.executor(), timers, *router,
                    [this](std::string_view name) -> Result<models::Catalog::Model> {
                      if (name == "odd") throw std::runtime_error("the disk is on fire");
                      if (name == "gone") return fail(models::errc::model_not_found, "it is gone");
                      return model(std::string(name));
                    });
  }
  void TearDown() override {
    auto stopped = run(actions->stop());
    EXPECT_TRUE(stopped.done());
    GroupRouterTest::TearDown();
  }
  void load(const std::string& name) {
    actions->load(ModelName(name), [this, name](const Result<>& loaded) {
      results.push_back(name + (loaded ? " is there" : ": " + loaded.error().message));
    });
    settle();
  }
  void unload(const std::string& name, Millis idle = 0ms, bool drain = false) {
    actions->unload(ModelName(name), idle, drain,
                    [this, name](bool gone) { results.push_back(name + (gone ? " went" : " stays")); });
    settle();
  }

  std::optional<RouterAllotActions> actions;
  std::vector<std::string> results;
};

TEST_F(RouterAllotActionsTest, ModelsAreLentAndGivenBack) {
  load("a");
  EXPECT_THAT(results, IsEmpty());
  server("a").finish_load();
  settle();
  EXPECT_THAT(lent_models(report()), testing::SizeIs(1));
  unload("a", 60s);
  unload("a");
  EXPECT_THAT(results, ElementsAre("a is there", "a stays", "a went"));
  EXPECT_THAT(lent_models(report()), IsEmpty());
}

TEST_F(RouterAllotActionsTest, WhatCantBeLoadedSaysWhy) {
  load("gone");
  load("a");
  server("a").fail_load(Error(make_error_code(errc::nowhere), "no memory"));
  settle();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0], "gone: it is gone");
  EXPECT_THAT(results[1], testing::HasSubstr("no memory"));
}

// The allotter loads one model at a time: it would wait for this one for ever.
TEST_F(RouterAllotActionsTest, AnExceptionIsAnAnswerToo) {
  load("odd");
  EXPECT_THAT(results, ElementsAre("odd: the disk is on fire"));
  load("gone");
  EXPECT_EQ(results.back(), "gone: it is gone");
}

TEST_F(RouterAllotActionsTest, NothingIsToldAfterItsEnd) {
  load("a");
  auto stopped = run(actions->stop());
  EXPECT_TRUE(stopped.done());
  load("gone");
  settle();
  EXPECT_THAT(results, IsEmpty());
}

}  // namespace
}  // namespace corral::fleet
