// Rule: what nobody foresaw on a thread of the engine (an exception out of libllama, an allocation that fails, a thread
// that can't be started) ends the generations concerned with an error. The process, the other sessions and the model
// live on. The simulation throws at random; here are real contexts and threads.
#include <atomic>
#include <cerrno>
#include <stdexcept>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <pthread.h>

#include "engine/test_compute_hook.h"
#include "engine/test_failing_new.h"
#include "engine/test_held_worker.h"
#include "engine/test_support.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CORRAL_SANITIZED 1  // pthread_create is theirs
#endif
#endif

#ifndef CORRAL_SANITIZED
namespace {
thread_local bool no_threads = false;
}

// libstdc++ calls this one.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* options, void* (*run)(void*), void* argument) {
  static const auto the_systems = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return no_threads ? EAGAIN : the_systems(thread, options, run, argument);
}
#endif

namespace corral::engine::test {
namespace {

class Unforeseen : public ::testing::Test {
 protected:
  // As many answers at once, each 20 tokens of its own.
  std::vector<Answer> answers(std::uint32_t count) {
    sessions_.clear();
    std::vector<StreamHandle> streams;
    {
      const HeldWorker held(*engine_);  // all begin together
      for (std::uint32_t i = 0; i < count; ++i) {
        sessions_.push_back(session_with(*engine_, prompt(i)));
        streams.push_back(*engine_->generate_stream(sessions_.back(), endless(20)));
      }
    }
    std::vector<Answer> all;
    for (StreamHandle& stream : streams) all.push_back(drain(stream));
    return all;
  }
  static std::vector<Token> prompt(std::uint32_t i) { return some_tokens(40 + i, i + 1); }
  // The session goes on from what its stream reported.
  void expect_goes_on(std::uint32_t i, const Answer& answer) {
    const Answer next = generate(*engine_, sessions_[i], endless(5));
    EXPECT_EQ(next.finish.reason, FinishReason::length);
    EXPECT_TRUE(reference_.is_greedy(prompt(i) + answer.tokens, next.tokens, true)) << i;
  }

  const std::unique_ptr<InferenceEngine> engine_ = load(load_options("tiny-llama"));
  const Reference reference_{"tiny-llama"};
  std::vector<SessionId> sessions_;
};

TEST_F(Unforeseen, AnExceptionOutOfLibllamaEndsThePassAlone) {
  const SessionId idle = session_with(*engine_, some_tokens(50, 90));
  const Answer before = generate(*engine_, idle, endless(5));
  std::atomic<int> passes = 0;
  std::vector<Answer> failed;
  {
    const ComputeHook hook([&](auto) -> std::optional<ggml_status> {
      if (++passes == 6) throw std::runtime_error("failed to allocate compute buffers");
      return std::nullopt;
    });
    failed = answers(3);
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(failed[i].finish.reason, FinishReason::error);
    ASSERT_TRUE(failed[i].finish.error);
    EXPECT_EQ(failed[i].finish.error->code, errc::worker_failed);
    EXPECT_THAT(failed[i].finish.error->message, ::testing::HasSubstr("failed to allocate compute buffers"));
    EXPECT_FALSE(failed[i].tokens.empty());
    EXPECT_LT(failed[i].tokens.size(), 20u);
    expect_goes_on(i, failed[i]);
  }
  EXPECT_EQ(engine_->stats().total().fresh_starts, 1u);
  const Answer after = generate(*engine_, idle, endless(5));
  EXPECT_TRUE(reference_.is_greedy(some_tokens(50, 90) + before.tokens, after.tokens, true));
}

// Each allocation that a pass makes, inside libllama and behind it, fails once.
TEST_F(Unforeseen, AnAllocationThatFailsOnADecodeThreadEndsGenerationsOnly) {
  if (!kAllocationsCanFail) GTEST_SKIP() << "the sanitizer's allocator never fails";
  std::uint32_t failures = 0;
  for (std::uint32_t number = 1; number < 400; number += 1 + number / 8) {
    std::atomic<int> passes = 0;
    std::atomic<bool> failed = false;
    std::vector<Answer> all;
    {
      const ComputeHook hook([&](auto) -> std::optional<ggml_status> {
        failing_allocations.watch(true);
        if (++passes == 4) failing_allocations.begin(number);
        if (passes == 8) failed = failing_allocations.end();
        return std::nullopt;
      });
      all = answers(2);
      // The decode thread lays it down.
      passes = 7;
      generate(*engine_, sessions_.front(), endless(1));
    }
    failures += failed ? 1 : 0;
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (all[i].finish.reason == FinishReason::length) continue;
      ASSERT_TRUE(all[i].finish.error) << number;
      EXPECT_EQ(all[i].finish.error->code, errc::worker_failed) << all[i].finish.error->message;
    }
    for (const SessionId session : sessions_) EXPECT_TRUE(engine_->end_session(session));
  }
  EXPECT_GT(failures, 10u) << "nothing failed: the test is of no use";
  answers(2);
  for (std::uint32_t i = 0; i < 2; ++i) EXPECT_EQ(generate(*engine_, sessions_[i], endless(2)).tokens.size(), 2u);
}

#ifndef CORRAL_SANITIZED
TEST(UnforeseenLoad, WithoutAThreadItFailsWithAnError) {
  for (const char* model : {"tiny-llama", "tiny-embed"}) {
    no_threads = true;
    const auto loaded = InferenceEngine::load(load_options(model));
    no_threads = false;
    ASSERT_FALSE(loaded) << model;
    EXPECT_EQ(loaded.error().code, errc::load_failed);
    EXPECT_THAT(loaded.error().message, ::testing::HasSubstr(model));
  }
  EXPECT_EQ(load(load_options("tiny-llama"))->stats().workers.size(), 1u);
}
#endif

}  // namespace
}  // namespace corral::engine::test
