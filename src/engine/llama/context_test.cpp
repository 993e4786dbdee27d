// What is saved from one layout of the KV cells can be put into any other, and goes on as if nothing had happened.
#include "engine/llama/context.h"

#include <algorithm>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

struct Shapes {
  const char* model;
  KvShape from, to;
};

class Moving : public ::testing::TestWithParam<Shapes> {};
INSTANTIATE_TEST_SUITE_P(Layouts, Moving,
                         ::testing::Values(Shapes{"tiny-llama", {}, {}}, Shapes{"tiny-llama", {}, {.streams = 4}},
                                           Shapes{"tiny-llama", {.streams = 4}, {}},
                                           Shapes{"tiny-qwen3", {.streams = 8}, {.streams = 2}},
                                           Shapes{"tiny-mamba", {}, {}}, Shapes{"tiny-jamba", {}, {}},
                                           Shapes{"tiny-gemma3", {}, {}}, Shapes{"tiny-gpt-oss", {}, {}},
                                           Shapes{"tiny-qwen2vl", {}, {.streams = 4}}));

// Computes tokens of the sequence from `position` on; the best token after the last.
Token compute(LlamaContext& context, std::span<const Token> tokens, std::uint32_t position, std::int32_t sequence) {
  Batch batch(context.n_batch());
  std::int32_t row = -1;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    row = batch.add(tokens[i], position + static_cast<std::uint32_t>(i), sequence, i + 1 == tokens.size());
  EXPECT_EQ(context.decode(batch), DecodeStatus::ok);
  const float* const logits = context.logits(row);
  return static_cast<Token>(std::max_element(logits, logits + 500) - logits);
}

TEST_P(Moving, ASavedSequenceGoesOnInAnotherLayout) {
  const auto [name, from, to] = GetParam();
  EXPECT_TRUE(load_backends());
  EngineLoadOptions options = load_options(name);
  const auto model = Model::load(options, {});
  ASSERT_TRUE(model);
  const std::atomic<bool> never = false;
  const auto first = LlamaContext::make(*model, options, never, from);
  const auto second = LlamaContext::make(*model, options, never, to);
  ASSERT_TRUE(first && second);
  const std::vector<Token> history = some_tokens(100);
  const std::vector<Token> more = some_tokens(3, 9);

  // In the last sequence, so that the parts before it are empty, beside another one.
  const auto last = [](const LlamaContext& context) {
    return context.first_sequence() + static_cast<std::int32_t>(std::min(context.sequence_ids(), 16u)) - 1;
  };
  compute(**first, some_tokens(20, 5), 0, (*first)->first_sequence());
  compute(**first, history, 0, last(**first));
  const std::vector<std::uint8_t> saved = (*first)->save(last(**first));
  ASSERT_FALSE(saved.empty());
  EXPECT_EQ((*first)->length(last(**first)), 100u) << "saving must leave it as it is";

  compute(**second, some_tokens(20, 6), 0, last(**second));
  ASSERT_TRUE((*second)->restore((*second)->first_sequence(), saved));
  EXPECT_EQ((*second)->length((*second)->first_sequence()), 100u);
  EXPECT_EQ(compute(**second, more, 100, (*second)->first_sequence()), compute(**first, more, 100, last(**first)));
}

// What the layout is chosen by must be what there is.
TEST(Layouts, PartsAreThoseOfTheRoundedPool) {
  EXPECT_TRUE(load_backends());
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 1500;
  const auto model = Model::load(options, {});
  ASSERT_TRUE(model);
  const std::atomic<bool> never = false;
  const auto pool = LlamaContext::make(*model, options, never);
  const auto parts = LlamaContext::make(*model, options, never, {.streams = 2});
  ASSERT_TRUE(pool && parts);
  EXPECT_EQ((*pool)->n_ctx(), 1536u);
  EXPECT_EQ((*parts)->cells_per_sequence(), 768u);
}

TEST_P(Moving, BytesOfNobodyAreRefused) {
  EXPECT_TRUE(load_backends());
  EngineLoadOptions options = load_options(GetParam().model);
  const auto model = Model::load(options, {});
  const std::atomic<bool> never = false;
  ASSERT_TRUE(model);
  const auto context = LlamaContext::make(*model, options, never, GetParam().to);
  ASSERT_TRUE(context);
  EXPECT_FALSE((*context)->restore((*context)->first_sequence(), {}));
  EXPECT_FALSE((*context)->restore((*context)->first_sequence(), std::vector<std::uint8_t>(1000, 7)));
  EXPECT_EQ((*context)->length((*context)->first_sequence()), 0u);
}

}  // namespace
}  // namespace corral::engine::test
