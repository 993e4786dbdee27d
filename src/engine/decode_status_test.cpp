// Rule: each way a forward pass can go wrong has its own recovery. Here: what libllama leaves behind each time. (A pass
// that is aborted: Limits.AbortedPassRollsBackAndCanBeRepeated.)
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "engine/llama/context.h"
#include "engine/sample/logits.h"
#include "engine/test_compute_hook.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

std::mutex hook_mutex;  // guards the two below, and is held while the hook runs
ComputeHook::Hook the_hook;
std::thread::id spared;

std::optional<ggml_status> ask_hook(ggml_cgraph* graph) {
  const std::scoped_lock lock(hook_mutex);
  if (!the_hook || std::this_thread::get_id() == spared) return std::nullopt;
  std::vector<Token> tokens;
  if (const ggml_tensor* const input = ggml_graph_get_tensor(graph, "inp_tokens")) {
    tokens.resize(static_cast<std::size_t>(ggml_nelements(input)));
    ggml_backend_tensor_get(input, tokens.data(), 0, tokens.size() * sizeof(Token));
  }
  return the_hook(tokens);
}

}  // namespace

ComputeHook::ComputeHook(Hook hook, Threads threads) {
  const std::scoped_lock lock(hook_mutex);
  the_hook = std::move(hook);
  spared = threads == Threads::all ? std::thread::id() : std::this_thread::get_id();
}

ComputeHook::~ComputeHook() {
  const std::scoped_lock lock(hook_mutex);
  the_hook = nullptr;
}

}  // namespace corral::engine::test

// libllama calls this one: a program's own functions come before those of its libraries.
extern "C" ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched, ggml_cgraph* graph) {
  static const auto ggmls = reinterpret_cast<decltype(&ggml_backend_sched_graph_compute_async)>(
      dlsym(RTLD_NEXT, "ggml_backend_sched_graph_compute_async"));
  if (const auto instead = corral::engine::test::ask_hook(graph)) return *instead;
  return ggmls(sched, graph);
}

namespace corral::engine::test {
namespace {

class DecodeStatuses : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(load_backends());
    options_.n_ctx = 256;
    auto model = Model::load(options_, {});
    ASSERT_TRUE(model);
    model_ = std::move(*model);
    auto made = LlamaContext::make(model_, options_, abort_);
    ASSERT_TRUE(made);
    context_ = std::move(*made);
  }

  // So many tokens of a sequence from a position on.
  DecodeStatus decode(std::int32_t sequence, std::uint32_t from, std::uint32_t count) {
    batch_.clear();
    for (std::uint32_t i = 0; i < count; ++i) batch_.add(kToken, from + i, sequence, i + 1 == count);
    return context_->decode(batch_);
  }
  // The best token behind a row of the latest pass.
  Token best(std::int32_t row) { return static_cast<Token>(argmax(context_->logits(row), model_->facts().n_vocab)); }

  static constexpr Token kToken = 100;
  EngineLoadOptions options_ = load_options("tiny-llama");
  const Reference reference_{"tiny-llama"};
  std::shared_ptr<Model> model_;

  std::atomic<bool> abort_ = false;
  std::unique_ptr<LlamaContext> context_;
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
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_batch = 16;
  const auto context = LlamaContext::make(*Model::load(options, {}), options, abort_);
  ASSERT_TRUE(context);
  batch_.clear();
  for (std::uint32_t i = 0; i < 17; ++i) batch_.add(100, i, 0, i == 16);
  EXPECT_EQ((*context)->decode(batch_), DecodeStatus::failed);
  EXPECT_EQ((*context)->length(0), 0u);
}

// What a device that fails makes of llama_decode: codes below -1.
TEST_F(DecodeStatuses, AFatalErrorIsRolledBackAndCanBeRepeated) {
  EXPECT_EQ(decode(0, 0, 10), DecodeStatus::ok);
  for (const ggml_status broken : {GGML_STATUS_ALLOC_FAILED, GGML_STATUS_FAILED}) {
    int asked = 0;
    const auto fail = [&](std::span<const Token> tokens) {
      EXPECT_EQ(tokens.size(), 5u);
      ++asked;
      return broken;
    };
    const ComputeHook hook(fail, ComputeHook::Threads::all);
    EXPECT_EQ(decode(0, 10, 5), DecodeStatus::failed);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(context_->length(0), 10u);
    EXPECT_EQ(context_->free_cells(), 246u);
  }
  EXPECT_EQ(decode(0, 10, 5), DecodeStatus::ok);
  EXPECT_EQ(context_->length(0), 15u);
  EXPECT_TRUE(reference_.is_greedy(std::vector<Token>(15, kToken), {best(4)}));
}

// Sequences with parts of their own and different numbers of tokens are computed one part after another: here five
// tokens of both, then the rest of the longer one.
TEST_F(DecodeStatuses, WhatWasFinishedBeforeAPassEndedStays) {
  for (const bool aborted : {false, true}) {
    const auto parts = LlamaContext::make(model_, options_, abort_, {.streams = 2});
    ASSERT_TRUE(parts);
    batch_.clear();
    for (std::uint32_t i = 0; i < 5; ++i) batch_.add(kToken, i, 0, i == 4);
    for (std::uint32_t i = 0; i < 20; ++i) batch_.add(kToken, i, 1, i == 19);
    std::vector<std::size_t> seen;
    {
      const auto end_second = [&](std::span<const Token> tokens) -> std::optional<ggml_status> {
        seen.push_back(tokens.size());
        if (seen.size() == 1) return std::nullopt;
        abort_ = aborted;
        return aborted ? std::nullopt : std::optional(GGML_STATUS_FAILED);
      };
      const ComputeHook hook(end_second, ComputeHook::Threads::all);
      EXPECT_EQ((*parts)->decode(batch_), aborted ? DecodeStatus::aborted : DecodeStatus::failed);
    }
    abort_ = false;
    EXPECT_EQ(seen, (std::vector<std::size_t>{10, 15}));
    EXPECT_EQ((*parts)->length(0), 5u);
    EXPECT_EQ((*parts)->length(1), 5u);
    batch_.clear();
    for (std::uint32_t i = 5; i < 20; ++i) batch_.add(kToken, i, 1, i == 19);
    EXPECT_EQ((*parts)->decode(batch_), DecodeStatus::ok);
    EXPECT_TRUE(reference_.is_greedy(std::vector<Token>(20, kToken),
                                     {static_cast<Token>(argmax((*parts)->logits(14), model_->facts().n_vocab))}));
  }
}

}  // namespace
}  // namespace corral::engine::test
