#include "engine/llama/weight_layout.h"

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

TEST(WeightLayout, AModelWithAStateKeepsThePlainOneWhereAmxIs) {
  EXPECT_TRUE(may_repack({}, {}));
  EXPECT_TRUE(may_repack({}, {.amx = true}));
  EXPECT_TRUE(may_repack({}, {.state = true}));
  EXPECT_FALSE(may_repack({}, {.amx = true, .state = true}));
  EXPECT_FALSE(may_repack({.repack = false}, {}));
}

TEST(WeightLayout, TheFileTellsWhetherThereIsAState) {
  ASSERT_TRUE(load_backends());
  const bool amx = weight_facts(model_path("tiny-llama")).amx;
  EXPECT_FALSE(weight_facts(model_path("tiny-llama")).state);
  EXPECT_FALSE(weight_facts(model_path("tiny-gemma3")).state);
  EXPECT_EQ(weight_facts(model_path("tiny-mamba")).state, amx);
  EXPECT_EQ(weight_facts(model_path("tiny-jamba")).state, amx);
  EXPECT_FALSE(weight_facts("/dev/null").state);
  EXPECT_FALSE(weight_facts("no such file").state);
}

}  // namespace
}  // namespace corral::engine::test
