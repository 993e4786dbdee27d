// Rule: an allocation that the system refuses is an error with numbers, in a load and behind a downsize.
#include <fstream>

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/fit/memory_estimate.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

using testing::HasSubstr;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CORRAL_TAKES_ALL_ADDRESSES 1
#endif
#endif

// While it lives, this process gets only so much more address space than it has.
class LittleMore {
 public:
  explicit LittleMore(std::uint64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit now = before_;
    now.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + bytes;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &now), 0);
  }
  ~LittleMore() { setrlimit(RLIMIT_AS, &before_); }
  LittleMore(const LittleMore&) = delete;
  LittleMore& operator=(const LittleMore&) = delete;

 private:
  rlimit before_{};
};

// The context is far larger than what is left for it, the dry run that explains the failure far smaller.
class OutOfMemory : public testing::Test {
 protected:
  void SetUp() override {
#ifdef CORRAL_TAKES_ALL_ADDRESSES
    GTEST_SKIP() << "a sanitizer takes addresses without end";
#endif
    options_.n_ctx = 1 << 19;
    options_.n_gpu_layers = 0;
    load(load_options("tiny-llama"));  // the backends' libraries are there from now on
    const auto estimate = estimate_memory(options_);
    ASSERT_TRUE(estimate);
    need_ = estimate->devices[0].kv + estimate->devices[0].compute;
    ASSERT_GT(need_, 4 * kLeft);
  }
  void expect_numbers(const Error& error) const {
    EXPECT_EQ(error.code, errc::out_of_memory);
    EXPECT_THAT(error.message, HasSubstr("no context of 524288 tokens"));
    EXPECT_THAT(error.message, HasSubstr("MiB on cpu, which has "));
    ASSERT_EQ(error.memory.size(), 1u);
    EXPECT_EQ(error.memory[0].device, "cpu");
    EXPECT_EQ(error.memory[0].need, need_);
    EXPECT_GT(error.memory[0].have, 0u);
  }

  static constexpr std::uint64_t kLeft = 64 << 20;
  EngineLoadOptions options_ = load_options("tiny-llama");
  std::uint64_t need_ = 0;  // of the context
};

TEST_F(OutOfMemory, OfALoadHasNumbers) {
  const LittleMore limit(kLeft);
  const auto failed = InferenceEngine::load(options_);
  ASSERT_FALSE(failed);
  expect_numbers(failed.error());
}

TEST_F(OutOfMemory, BehindADownsizeEndsTheGenerationWithNumbersAndTheNextOneRuns) {
  const auto engine = load(options_);
  const SessionId session = session_with(*engine, some_tokens(50));
  generate(*engine, session, endless(5));
  ASSERT_TRUE(engine->downsize().done);
  {
    const LittleMore limit(kLeft);
    const Finish finish = generate(*engine, session, endless(5)).finish;
    ASSERT_EQ(finish.reason, FinishReason::error);
    ASSERT_TRUE(finish.error);
    expect_numbers(*finish.error);
  }
  EXPECT_EQ(generate(*engine, session, endless(5)).finish.usage.cached_tokens, 54u);
}

}  // namespace
}  // namespace corral::engine::test
