// Rule: each way a forward pass can go wrong has its own recovery. Here: what libllama leaves behind each time. (A pass
// that is aborted: Limits.AbortedPassRollsBackAndCanBeRepeated.)
#include <atomic>

#include "engine/context.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

class DecodeStatuses : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(load_backends());
    LoadOptions options = load_options("tiny-llama");
    options.n_ctx = 256;
    const auto model = Model::load(options, {});
    ASSERT_TRUE(model);
    auto made = Context::make(*model, options, abort_);
    ASSERT_TRUE(made);
    context_ = std::move(*made);
  }

  // So many tokens of a sequence from a position on.
  DecodeStatus decode(std::int32_t sequence, std::uint32_t from, std::uint32_t count) {
    batch_.clear();
    for (std::uint32_t i = 0; i < count; ++i) batch_.add(100, from + i, sequence, i + 1 == count);
    return context_->decode(batch_);
  }

  std::atomic<bool> abort_ = false;
  std::unique_ptr<Context> context_;
  Batch batch_{300};
};

TEST_F(DecodeStatuses, NoRoomChangesNothing) {
  EXPECT_EQ(decode(0, 0, 250), DecodeStatus::ok);
  EXPECT_EQ(decode(1, 0, 20), DecodeStatus::no_room);
  EXPECT_EQ(context_->length(0), 250u);
  EXPECT_EQ(context_->length(1), 0u);
  context_->clear(0);
  EXPECT_EQ(decode(1, 0, 20), DecodeStatus::ok);
}

TEST_F(DecodeStatuses, ABadBatchChangesNothing) {
  EXPECT_EQ(decode(0, 0, 10), DecodeStatus::ok);
  EXPECT_EQ(decode(0, 50, 5), DecodeStatus::failed);  // a gap in the positions
  EXPECT_EQ(context_->length(0), 10u);
  EXPECT_EQ(decode(0, 10, 5), DecodeStatus::ok);
  EXPECT_EQ(context_->length(0), 15u);
}

TEST_F(DecodeStatuses, ABatchAboveTheLimitIsRefusedWhereLibllamaWouldAbort) {
  LoadOptions options = load_options("tiny-llama");
  options.n_batch = 16;
  const auto context = Context::make(*Model::load(options, {}), options, abort_);
  ASSERT_TRUE(context);
  batch_.clear();
  for (std::uint32_t i = 0; i < 17; ++i) batch_.add(100, i, 0, i == 16);
  EXPECT_EQ((*context)->decode(batch_), DecodeStatus::failed);
  EXPECT_EQ((*context)->length(0), 0u);
}

}  // namespace
}  // namespace corral::engine::test
