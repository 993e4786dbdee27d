// Pins that requests ask for by how long a model is to stay (ModelRouter::keep).
#include <algorithm>

#include "router/router_fixture_for_tests.h"

namespace corral::router {
namespace {

class Keep : public RouterTest {
 protected:
  void keep(const std::string& name, Millis idle) {
    router->keep(ModelName(name), idle);
    settle();
  }
  bool pinned(const std::string& name) {
    const auto all = report();
    const auto found =
        std::ranges::find_if(all.instances, [&](const auto& server) { return server.view.spec->name.value() == name; });
    return found != all.instances.end() && found->view.pinned;
  }
  std::set<ModelName> saved() { return run(router->pins()).get(); }
};

TEST_F(Keep, ForEverIsAPinThatIsNotSaved) {
  start(slots(2));
  have("a");
  keep("a", -1ms);
  EXPECT_TRUE(pinned("a"));
  EXPECT_THAT(saved(), IsEmpty());
  have("b");
  have("c");
  EXPECT_TRUE(pinned("a")) << "b had to go";
  keep("a", 60s);
  EXPECT_FALSE(pinned("a"));
}

// A request that says so each time would else shut everybody else out for good.
TEST_F(Keep, TheLastSlotOfATypeIsLeftToOthers) {
  start(slots(2));
  have("a");
  have("b");
  keep("a", -1ms);
  keep("b", -1ms);
  EXPECT_TRUE(pinned("a"));
  EXPECT_FALSE(pinned("b"));
  have("c");
  EXPECT_THAT(backend.alive(), testing::UnorderedElementsAre("a", "c"));
}

TEST_F(Keep, OfOneSlotNoneIsTaken) {
  have("a");
  keep("a", -1ms);
  EXPECT_FALSE(pinned("a"));
}

TEST_F(Keep, WhereThereAreSlotsWithoutEndEverybodyMayBePinned) {
  start(slots(-1));
  for (const auto* name : {"a", "b", "c"}) {
    have(name);
    keep(name, -1ms);
    EXPECT_TRUE(pinned(name));
  }
}

TEST_F(Keep, APinByHandStays) {
  start(slots(2));
  have("a");
  ASSERT_TRUE(run(router->pin(ModelName("a"), true)).get());
  keep("a", -1ms);
  keep("a", 5s);
  EXPECT_TRUE(pinned("a"));
  EXPECT_THAT(saved(), ElementsAre(ModelName("a")));
}

TEST_F(Keep, APinByHandOverOneOfARequestIsSaved) {
  start(slots(2));
  have("a");
  keep("a", -1ms);
  ASSERT_TRUE(run(router->pin(ModelName("a"), true)).get());
  keep("a", 5s);
  EXPECT_TRUE(pinned("a"));
  EXPECT_THAT(saved(), ElementsAre(ModelName("a")));
}

TEST_F(Keep, WhoIsToldToLeaveLosesIt) {
  start(slots(2));
  have("a");
  keep("a", -1ms);
  backend.stop_at_once = true;
  auto gone = unload("a");
  settle();
  have("a");
  EXPECT_FALSE(pinned("a"));
}

}  // namespace
}  // namespace corral::router
