// Rule: where a sequence has one state for all its tokens, a pass that ends early leaves no wrong ones behind. libllama
// moves states of sequences that aren't in the pass, and takes free ones for empty that aren't.
#include <atomic>
#include <cmath>
#include <vector>

#include "engine/llama/context.h"
#include "engine/test_compute_hook.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

class CutStates : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(load_backends());
    options_ = load_options(GetParam());
    options_.max_sequences = 4;
    auto model = Model::load(options_, {});
    ASSERT_TRUE(model);
    model_ = std::move(*model);
    ASSERT_FALSE(model_->memory_rules().divisible);
    context_ = make();
    ASSERT_TRUE(context_);
  }
  std::unique_ptr<LlamaContext> make() {
    auto made = LlamaContext::make(model_, options_, abort_);
    return made ? std::move(*made) : nullptr;
  }
  void add(std::span<const Token> tokens, std::uint32_t from, std::int32_t sequence) {
    for (std::uint32_t i = 0; i < tokens.size(); ++i) batch_.add(tokens[i], from + i, sequence, i + 1 == tokens.size());
  }
  // The logits behind a history that is computed from its start, in a sequence that is empty.
  std::vector<float> logits(LlamaContext& context, std::span<const Token> history, std::int32_t sequence) {
    batch_.clear();
    add(history, 0, sequence);
    EXPECT_EQ(context.decode(batch_), DecodeStatus::ok);
    const float* const row = context.logits(static_cast<std::int32_t>(history.size()) - 1);
    return {row, row + model_->facts().n_vocab};
  }
  void end_early(bool aborted) {
    const ComputeHook hook(
        [&](auto) {
          abort_ = aborted;
          return aborted ? std::nullopt : std::optional(GGML_STATUS_FAILED);
        },
        ComputeHook::Threads::all);
    EXPECT_EQ(context_->decode(batch_), aborted ? DecodeStatus::aborted : DecodeStatus::failed);
    abort_ = false;
  }

  EngineLoadOptions options_;
  std::shared_ptr<Model> model_;
  std::atomic<bool> abort_ = false;
  std::unique_ptr<LlamaContext> context_;
  Batch batch_{300};
};
INSTANTIATE_TEST_SUITE_P(Models, CutStates, ::testing::Values("tiny-mamba", "tiny-jamba"),
                         [](const auto& info) { return std::string(info.param).substr(5); });

TEST_P(CutStates, AreNobodysAfterwards) {
  const std::vector<Token> history = some_tokens(40, 7);
  const std::unique_ptr<LlamaContext> fresh = make();
  ASSERT_TRUE(fresh);
  const std::vector<float> right = logits(*fresh, history, 0);
  for (const bool aborted : {false, true}) {
    for (const bool idle : {false, true}) {
      // All states are in use, then the one in the middle is free, or of somebody who isn't in the pass.
      for (std::int32_t sequence = 0; sequence < 3; ++sequence) {
        context_->clear(sequence);
        logits(*context_, some_tokens(30, static_cast<std::uint32_t>(sequence) + 1), sequence);
      }
      if (!idle) context_->clear(1);
      batch_.clear();
      for (const std::int32_t sequence : {0, 2}) add(some_tokens(5, 9), 30, sequence);
      end_early(aborted);

      for (std::int32_t sequence = 0; sequence < 3; ++sequence) {
        EXPECT_EQ(context_->length(sequence), 0u) << "its state may be another's";
        context_->clear(sequence);
      }
      for (const std::int32_t sequence : {1, 0, 2}) {
        const std::vector<float> now = logits(*context_, history, sequence);
        double max = 0;
        for (std::size_t i = 0; i < now.size(); ++i) max = std::max<double>(max, std::abs(now[i] - right[i]));
        EXPECT_LT(max, 1e-3) << "sequence " << sequence << (aborted ? ", aborted" : ", failed")
                             << (idle ? ", with an idle one" : "");
      }
    }
  }
}

}  // namespace
}  // namespace corral::engine::test
