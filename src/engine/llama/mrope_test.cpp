// Rule: a picture of a model with M-RoPE has more cells than positions, and no operation on a sequence mixes them up.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "engine/llama/context.h"
#include "engine/test_compute_hook.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

constexpr std::uint32_t kBefore = 12, kBehind = 7;
constexpr std::uint32_t kWidth = 5, kHeight = 3, kCells = kWidth * kHeight;
constexpr std::uint32_t kAll = kBefore + kCells + kBehind;
constexpr std::uint32_t kVectorWidth = 64;

struct Grid final : MediaPiece {
  Grid() : MediaPiece(sha256({std::string_view("a grid")}), kCells, false) {}
  std::uint32_t positions() const override { return kWidth; }
  CellPosition position(std::uint32_t cell, std::uint32_t begin) const override {
    return {begin, begin + cell / kWidth, begin + cell % kWidth, 0};
  }
};

class MultipleRope : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(load_backends());
    auto model = Model::load(options_, {});
    ASSERT_TRUE(model);
    model_ = std::move(*model);
    context_ = make({});
    ASSERT_TRUE(context_);
    first_ = context_->first_sequence();
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] = std::sin(static_cast<float>(i * i % 1000));
  }
  std::unique_ptr<LlamaContext> make(KvShape shape) {
    auto made = LlamaContext::make(model_, options_, abort_, shape);
    return made ? std::move(*made) : nullptr;
  }

  DecodeStatus tokens(LlamaContext& context, std::int32_t sequence, const std::vector<Token>& tokens,
                      std::uint32_t from) {
    batch_.clear();
    for (std::uint32_t i = 0; i < tokens.size(); ++i) batch_.add(tokens[i], from + i, sequence, i + 1 == tokens.size());
    return context.decode(batch_);
  }
  // Cells [from, to) of the picture, which begins behind the first tokens.
  DecodeStatus cells(LlamaContext& context, std::int32_t sequence, std::uint32_t from, std::uint32_t to) {
    batch_.clear();
    batch_.take_embeddings(rows_.data() + std::size_t{kVectorWidth} * from, span_);
    for (std::uint32_t cell = from; cell < to; ++cell) batch_.add(-5, kBefore + cell, sequence, false);
    return context.decode(batch_);
  }
  // All of it; the logits behind the last token.
  std::vector<float> whole(LlamaContext& context, std::int32_t sequence) {
    EXPECT_EQ(tokens(context, sequence, some_tokens(kBefore), 0), DecodeStatus::ok);
    EXPECT_EQ(cells(context, sequence, 0, kCells), DecodeStatus::ok);
    return behind(context, sequence);
  }
  // The tokens behind the picture.
  std::vector<float> behind(LlamaContext& context, std::int32_t sequence) {
    EXPECT_EQ(tokens(context, sequence, some_tokens(kBehind, 2), kBefore + kCells), DecodeStatus::ok);
    EXPECT_EQ(context.length(sequence), kAll);
    return logits(context);
  }
  std::vector<float> logits(LlamaContext& context) const {
    const float* const row = context.logits(static_cast<std::int32_t>(batch_.size()) - 1);
    return {row, row + model_->facts().n_vocab};
  }

  EngineLoadOptions options_ = load_options("tiny-qwen2vl");
  std::shared_ptr<Model> model_;
  std::atomic<bool> abort_ = false;
  std::unique_ptr<LlamaContext> context_;
  std::int32_t first_ = 0;
  Batch batch_{300};
  std::vector<float> rows_ = std::vector<float>(std::size_t{kVectorWidth} * kCells);
  const MediaSpan span_{.begin = kBefore, .piece = std::make_shared<Grid>()};
};

// Passes of another size round differently.
void expect_same_logits(const std::vector<float>& one, const std::vector<float>& other) {
  ASSERT_EQ(one.size(), other.size());
  float largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) largest = std::max(largest, std::abs(one[i] - other[i]));
  EXPECT_LT(largest, 0.05f);
}

TEST_F(MultipleRope, LibllamaGetsThePositionsOfRowsAndColumns) {
  const auto mine = whole(*context_, first_);
  EXPECT_FALSE(context_->can_shift());
  EXPECT_EQ(context_->cells_of(std::array{first_}), kAll);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_threads = params.n_threads_batch = 1;
  const std::unique_ptr<llama_context, decltype(&llama_free)> other(
      llama_init_from_model(const_cast<llama_model*>(model_->handle()), params), llama_free);
  const auto decode = [&](std::vector<Token> tokens, llama_pos from) {
    auto batch = llama_batch_get_one(tokens.data(), static_cast<std::int32_t>(tokens.size()));
    std::vector<llama_pos> positions(tokens.size());
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = from + static_cast<llama_pos>(i);
    batch.pos = positions.data();
    EXPECT_EQ(llama_decode(other.get(), batch), 0);
  };
  decode(some_tokens(kBefore), 0);
  std::vector<llama_pos> positions;
  for (const char dimension : {'t', 'y', 'x', 'z'}) {
    for (std::uint32_t y = 0; y < kHeight; ++y) {
      for (std::uint32_t x = 0; x < kWidth; ++x) {
        const std::uint32_t at = dimension == 'x' ? x : dimension == 'y' ? y : 0;
        positions.push_back(dimension == 'z' ? 0 : static_cast<llama_pos>(kBefore + at));
      }
    }
  }
  EXPECT_EQ(llama_decode(other.get(), {.n_tokens = static_cast<std::int32_t>(kCells),
                                       .token = nullptr,
                                       .embd = rows_.data(),
                                       .pos = positions.data(),
                                       .n_seq_id = nullptr,
                                       .seq_id = nullptr,
                                       .logits = nullptr}),
            0);
  decode(some_tokens(kBehind, 2), static_cast<llama_pos>(kBefore + kWidth));
  const float* const theirs = llama_get_logits_ith(other.get(), -1);
  expect_same_logits(mine, {theirs, theirs + model_->facts().n_vocab});
}

TEST_F(MultipleRope, APictureMayBeComputedInParts) {
  const auto at_once = whole(*context_, first_);
  const std::int32_t other = first_ + 1;
  EXPECT_EQ(tokens(*context_, other, some_tokens(kBefore), 0), DecodeStatus::ok);
  for (const auto& [from, to] : {std::pair{0u, 1u}, {1u, 7u}, {7u, kCells}})
    EXPECT_EQ(cells(*context_, other, from, to), DecodeStatus::ok);
  expect_same_logits(behind(*context_, other), at_once);
}

TEST_F(MultipleRope, ASequenceIsCutBeforeAndBehindAPicture) {
  const auto expected = whole(*context_, first_);
  for (const std::uint32_t keep : {kBefore + kCells, kBefore, kBefore - 3}) {
    EXPECT_TRUE(context_->can_cut(first_, keep));
    EXPECT_TRUE(context_->trim(first_, keep));
    EXPECT_EQ(context_->length(first_), keep);
    EXPECT_EQ(context_->cells_of(std::array{first_}), keep);
    const auto first = some_tokens(kBefore);
    if (keep < kBefore)
      EXPECT_EQ(tokens(*context_, first_, {first.begin() + keep, first.end()}, keep), DecodeStatus::ok);
    if (keep <= kBefore) EXPECT_EQ(cells(*context_, first_, 0, kCells), DecodeStatus::ok);
    expect_same_logits(behind(*context_, first_), expected);
  }
  EXPECT_FALSE(context_->can_cut(first_, kBefore + 1));
  EXPECT_FALSE(context_->trim(first_, kBefore + 1));
  EXPECT_EQ(context_->length(first_), 0u);
  EXPECT_EQ(context_->free_cells(), context_->n_ctx());
}

TEST_F(MultipleRope, APrefixWithAPictureIsShared) {
  const auto expected = whole(*context_, first_);
  for (const KvShape shape : {KvShape{}, KvShape{.streams = 3}}) {
    const auto context = make(shape);
    ASSERT_TRUE(context);
    const std::int32_t from = context->first_sequence(), to = from + 2;
    whole(*context, from);
    ASSERT_TRUE(context->share(from, to, kBefore + kCells));
    EXPECT_EQ(context->length(to), kBefore + kCells);
    expect_same_logits(behind(*context, to), expected);
    context->clear(from);
    context->trim(to, kBefore + kCells);
    expect_same_logits(behind(*context, to), expected);
  }
}

TEST_F(MultipleRope, ASavedSequenceGoesOnInAnotherLayout) {
  const auto expected = whole(*context_, first_);
  const auto more = [&](LlamaContext& context, std::int32_t sequence) {
    EXPECT_EQ(tokens(context, sequence, some_tokens(3, 9), kAll), DecodeStatus::ok);
    return logits(context);
  };
  const auto saved = context_->save(first_);
  const auto next = more(*context_, first_);
  for (const KvShape shape : {KvShape{}, KvShape{.streams = 3}}) {
    const auto context = make(shape);
    ASSERT_TRUE(context);
    const std::int32_t to = context->first_sequence() + 1;
    ASSERT_TRUE(context->restore(to, saved));
    EXPECT_EQ(context->length(to), kAll);
    EXPECT_EQ(context->free_cells(), context->n_ctx() - (shape.unified() ? kAll : 0));
    expect_same_logits(more(*context, to), next);
    EXPECT_TRUE(context->trim(to, kBefore + kCells));
    expect_same_logits(behind(*context, to), expected);
    // In the middle of the picture.
    EXPECT_TRUE(context->trim(to, kBefore));
    EXPECT_EQ(cells(*context, to, 0, 6), DecodeStatus::ok);
    const auto middle = context->save(to);
    context->clear(to);
    ASSERT_TRUE(context->restore(to, middle));
    EXPECT_EQ(context->length(to), kBefore + 6);
    EXPECT_EQ(cells(*context, to, 6, kCells), DecodeStatus::ok);
    expect_same_logits(behind(*context, to), expected);
  }
}

TEST_F(MultipleRope, BytesWithoutPositionsAreRefused) {
  whole(*context_, first_);
  auto saved = context_->save(first_);
  saved.resize(saved.size() - 24);  // of one picture
  EXPECT_FALSE(context_->restore(first_ + 1, saved));
  EXPECT_EQ(context_->length(first_ + 1), 0u);
}

TEST_F(MultipleRope, AFailedPassOfAPictureLeavesNothingOfIt) {
  const auto expected = whole(*context_, first_);
  for (const bool aborted : {false, true}) {
    EXPECT_TRUE(context_->trim(first_, kBefore));
    EXPECT_EQ(cells(*context_, first_, 0, 4), DecodeStatus::ok);
    {
      const auto fail = [&](std::span<const Token>) -> std::optional<ggml_status> {
        abort_ = aborted;
        return aborted ? std::nullopt : std::optional(GGML_STATUS_FAILED);
      };
      const ComputeHook hook(fail, ComputeHook::Threads::all);
      EXPECT_EQ(cells(*context_, first_, 4, kCells), aborted ? DecodeStatus::aborted : DecodeStatus::failed);
    }
    abort_ = false;
    EXPECT_EQ(context_->length(first_), kBefore);
    EXPECT_EQ(context_->free_cells(), context_->n_ctx() - kBefore);
    EXPECT_EQ(cells(*context_, first_, 0, kCells), DecodeStatus::ok);
    expect_same_logits(behind(*context_, first_), expected);
  }
}

// Parts of a split layout with different numbers of tokens are computed one after another.
TEST_F(MultipleRope, FinishedTokensBehindAPictureStay) {
  const auto parts = make({.streams = 2});
  ASSERT_TRUE(parts);
  const auto expected = whole(*parts, 1);
  parts->trim(1, kBefore + kCells);
  const auto last = some_tokens(kBehind, 2);
  batch_.clear();
  for (std::uint32_t i = 0; i < 2; ++i) batch_.add(100, i, 0, false);
  for (std::uint32_t i = 0; i < kBehind; ++i) batch_.add(last[i], kBefore + kCells + i, 1, i + 1 == kBehind);
  {
    int asked = 0;
    const ComputeHook hook(
        [&](std::span<const Token>) { return asked++ == 0 ? std::nullopt : std::optional(GGML_STATUS_FAILED); },
        ComputeHook::Threads::all);
    EXPECT_EQ(parts->decode(batch_), DecodeStatus::failed);
  }
  EXPECT_EQ(parts->length(0), 2u);
  EXPECT_EQ(parts->length(1), kBefore + kCells + 2);
  EXPECT_EQ(tokens(*parts, 1, {last.begin() + 2, last.end()}, kBefore + kCells + 2), DecodeStatus::ok);
  expect_same_logits(logits(*parts), expected);
}

TEST_F(MultipleRope, NoRoomForAPictureChangesNothing) {
  const std::int32_t other = first_ + 1;
  const auto expected = whole(*context_, first_);
  EXPECT_TRUE(context_->trim(first_, kBefore));
  const std::uint32_t room = context_->n_ctx() - kBefore;
  for (std::uint32_t at = 0; at < room - 5; at += std::min(250u, room - 5 - at))
    ASSERT_EQ(tokens(*context_, other, std::vector<Token>(std::min(250u, room - 5 - at), 100), at), DecodeStatus::ok);
  EXPECT_EQ(cells(*context_, first_, 0, kCells), DecodeStatus::no_room);
  EXPECT_EQ(context_->length(first_), kBefore);
  context_->clear(other);
  EXPECT_EQ(cells(*context_, first_, 0, kCells), DecodeStatus::ok);
  expect_same_logits(behind(*context_, first_), expected);
}

}  // namespace
}  // namespace corral::engine::test
