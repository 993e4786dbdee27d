#include "fleet/announce/split_facts.h"

#include <gtest/gtest.h>

namespace corral::fleet {
namespace {

models::ModelInfo model() {
  models::ModelInfo made;
  made.traits.layers = 24;
  made.traits.weights = models::WeightBytes{24'000, 5'000};
  return made;
}

TEST(SplitFacts, AreOfTensorsAndOfAPredictedLoad) {
  const auto split = split_facts(model(), {.usable = 8192, .cache = 48'001, .compute = 700});
  EXPECT_EQ(split.layers, 24u);
  EXPECT_EQ(split.layer_bytes, 1'000u);
  EXPECT_EQ(split.cache_bytes, 2'001u);
  EXPECT_EQ(split.ends_bytes, 5'000u);
  EXPECT_EQ(split.compute_bytes, 700u);
}

TEST(SplitFacts, TheContextIsThatOfAUsualLoadAndMayGrow) {
  auto long_one = model(), short_one = model(), unsaid = model(), vectors = model();
  long_one.traits.context_length = vectors.traits.context_length = 131'072;
  short_one.traits.context_length = 2'048;
  vectors.type = ModelType::embedding;
  const auto contexts = [](const models::ModelInfo& of, std::int64_t asked) {
    const auto split = split_facts(of, {.asked = asked});
    return std::pair(split.context, split.max_context);
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(contexts(long_one, -1), Pair(8'192, 131'072));
  EXPECT_EQ(contexts(long_one, 4'096), Pair(4'096, 4'096));
  EXPECT_EQ(contexts(long_one, 40'000), Pair(40'000, 40'000));
  EXPECT_EQ(contexts(short_one, -1), Pair(2'048, 2'048));
  EXPECT_EQ(contexts(unsaid, 0), Pair(8'192, 8'192));
  EXPECT_EQ(contexts(vectors, -1), Pair(8'192, 8'192));
}

TEST(SplitFacts, AFileThatSaysTooLittleHasNone) {
  auto unknown = model(), single = model(), endless = model(), empty = model();
  unknown.traits.weights.reset();
  single.traits.layers = 1;
  endless.traits.layers = ~std::uint64_t{0};
  empty.traits.weights->layers = 0;
  for (const auto& one : {unknown, single, endless, empty}) EXPECT_EQ(split_facts(one, {}).layers, 0u);
}

}  // namespace
}  // namespace corral::fleet
