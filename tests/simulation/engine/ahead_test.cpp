// Sessions whose next token takes long to choose choose side by side.
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/schedule/flat_costs.h"
#include "engine/values/errors.h"
#include "simulation/engine/held_core.h"

namespace corral::engine::simulation {
namespace {

// How many choose at a time, and what goes wrong.
struct Choosing {
  std::atomic<std::uint32_t> now = 0, max = 0, picks = 0;
  // As many come before the first of them goes on. More than one only where as many are in each pass.
  std::atomic<std::uint32_t> at_once = 1;
};
enum class Fault { none, exception, other };

class SlowPicker final : public TokenPicker {
 public:
  SlowPicker(Choosing& choosing, Fault fault) : choosing_(choosing), fault_(fault) {}
  void prime(std::span<const Token>) override {}
  bool takes_long() const override { return true; }
  Drawn drawn(std::uint32_t) override { return {}; }
  Result<Token> sample(const float* logits) override {
    ++choosing_.picks;
    const std::uint32_t now = ++choosing_.now;
    if (now > choosing_.max) choosing_.max = now;
    while (choosing_.max < choosing_.at_once) std::this_thread::yield();
    --choosing_.now;
    if (++picked_ == 3 && fault_ == Fault::exception) throw std::runtime_error("a sampler that fails");
    if (picked_ == 3 && fault_ == Fault::other) throw 3;
    return static_cast<Token>(*logits);
  }

 private:
  Choosing& choosing_;
  const Fault fault_;
  std::uint32_t picked_ = 0;
};

class Ahead : public HeldCore {
 protected:
  void start(std::int32_t threads) {
    threads_ = {threads, threads};
    HeldCore::start();
  }
  void fit(WorkerCore::Parts& parts) override { parts.costs = std::make_unique<FlatCosts>(); }
  // It says what the fake model says: read() looks.
  Chat& slow(std::uint32_t number, Fault fault = Fault::none) {
    return chat(some(4 + number, number), 20, std::make_unique<SlowPicker>(choosing_, fault));
  }

  Choosing choosing_;
};

TEST_F(Ahead, AsManyAtATimeAsThereAreThreads) {
  start(3);
  for (std::uint32_t i = 0; i < 6; ++i) slow(i);
  rounds(10);
  choosing_.at_once = 3;
  rounds(50);
  EXPECT_EQ(choosing_.max, 3u);
  EXPECT_EQ(choosing_.picks, 6 * 20u) << "each token is chosen once";
}

TEST_F(Ahead, WithOneThreadNobodyHelps) {
  start(1);
  for (std::uint32_t i = 0; i < 6; ++i) slow(i);
  rounds(60);
  EXPECT_EQ(choosing_.max, 1u);
}

class AheadFails : public Ahead, public ::testing::WithParamInterface<Fault> {};
INSTANTIATE_TEST_SUITE_P(Kinds, AheadFails, ::testing::Values(Fault::exception, Fault::other), [](const auto& info) {
  return info.param == Fault::exception ? "an_exception" : "something_else";
});

// What throws is one session's, also on a thread that helps; the others say what they would have said, though the
// worker may start afresh.
TEST_P(AheadFails, WhatThrowsEndsThatSessionOnly) {
  start(4);
  for (std::uint32_t i = 0; i < 5; ++i) slow(i, i == 2 ? GetParam() : Fault::none);
  rounds(100);
  for (std::uint32_t i = 0; i < 5; ++i) {
    Chat& one = *chats_[i];
    ASSERT_TRUE(is_through(one)) << i;
    EXPECT_EQ(one.finish->reason, i == 2 ? FinishReason::error : FinishReason::length) << i;
    EXPECT_EQ(one.answered.size(), i == 2 ? 2u : 20u) << i;
  }
  EXPECT_EQ(chats_[2]->finish->error->code, errc::worker_failed);
  EXPECT_EQ(choosing_.picks, 4 * 20u + 3) << "what was chosen before isn't chosen again";
}

}  // namespace
}  // namespace corral::engine::simulation
