// Sessions whose next token takes long to choose choose side by side.
#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/errors.h"
#include "engine/flat_costs.h"
#include "simulation/engine/core_alone.h"

namespace corral::engine::simulation {
namespace {

struct Told {
  std::vector<Token> tokens;
  std::optional<Finish> finish;
};
Told read(StreamHandle& stream) {
  Told told;
  while (auto chunk = stream.try_next()) {
    told.tokens.insert(told.tokens.end(), chunk->tokens.begin(), chunk->tokens.end());
    if (chunk->finish) told.finish = std::move(chunk->finish);
  }
  return told;
}

// How many choose at a time, and what goes wrong.
struct Choosing {
  std::atomic<std::uint32_t> now = 0, most = 0, picks = 0;
  // As many come before the first of them goes on. More than one only where as many are in each pass.
  std::atomic<std::uint32_t> at_once = 1;
};
enum class Fault { none, told, untold };

class SlowPicker final : public TokenPicker {
 public:
  SlowPicker(Choosing& choosing, Fault fault) : choosing_(choosing), fault_(fault) {}
  void prime(std::span<const Token>) override {}
  bool takes_long() const override { return true; }
  Drawn drawn(std::uint32_t) override { return {}; }
  Result<Token> sample(const float* logits) override {
    ++choosing_.picks;
    const std::uint32_t now = ++choosing_.now;
    if (now > choosing_.most) choosing_.most = now;
    while (choosing_.most < choosing_.at_once) std::this_thread::yield();
    --choosing_.now;
    if (++said_ == 3 && fault_ == Fault::told) throw std::runtime_error("a sampler that fails");
    if (said_ == 3 && fault_ == Fault::untold) throw 3;
    return static_cast<Token>(*logits);
  }

 private:
  Choosing& choosing_;
  const Fault fault_;
  std::uint32_t said_ = 0;
};

class Ahead : public CoreAlone {
 protected:
  std::unique_ptr<TokenPicker> slow(Fault fault = Fault::none) {
    return std::make_unique<SlowPicker>(choosing_, fault);
  }
  void start(std::int32_t threads) { CoreAlone::start(std::make_unique<FlatCosts>(), {.threads = {threads, threads}}); }
  // What sessions say that choose quickly, one after another.
  std::vector<Told> quick(std::uint32_t sessions) {
    for (std::uint32_t i = 0; i < sessions; ++i) chat(4 + i, 20);
    rounds(60);
    std::vector<Told> told;
    for (const auto& stream : streams_) told.push_back(read(*stream));
    return told;
  }
  Choosing choosing_;
};

TEST_F(Ahead, AsManyAtATimeAsThereAreThreads) {
  start(3);
  for (std::uint32_t i = 0; i < 6; ++i) chat(4 + i, 20, slow());
  rounds(10);
  choosing_.at_once = 3;
  rounds(50);
  EXPECT_EQ(choosing_.most, 3u);
  EXPECT_EQ(choosing_.picks, 6 * 20u) << "each token is chosen once";
}

TEST_F(Ahead, WithOneThreadNobodyHelps) {
  start(1);
  for (std::uint32_t i = 0; i < 6; ++i) chat(4 + i, 20, slow());
  rounds(60);
  EXPECT_EQ(choosing_.most, 1u);
}

TEST_F(Ahead, TheAnswersAreTheSame) {
  start(4);
  const std::vector<Told> alone = quick(5);
  streams_.clear();
  start(4);
  for (std::uint32_t i = 0; i < 5; ++i) chat(4 + i, 20, slow());
  rounds(60);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(read(*streams_[i]).tokens, alone[i].tokens) << i;
}

class AheadFails : public Ahead, public ::testing::WithParamInterface<Fault> {};
INSTANTIATE_TEST_SUITE_P(Kinds, AheadFails, ::testing::Values(Fault::told, Fault::untold), [](const auto& info) {
  return info.param == Fault::told ? "an_exception" : "something_else";
});

// What throws is one session's, also on a thread that helps; the others say what they would have said, though the
// worker may start afresh.
TEST_P(AheadFails, WhatThrowsEndsThatSessionOnly) {
  start(4);
  const std::vector<Told> alone = quick(5);
  streams_.clear();
  start(4);
  for (std::uint32_t i = 0; i < 5; ++i) chat(4 + i, 20, slow(i == 2 ? GetParam() : Fault::none));
  rounds(100);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Told told = read(*streams_[i]);
    ASSERT_TRUE(told.finish) << i;
    if (i == 2) {
      EXPECT_EQ(told.finish->reason, StopReason::error);
      EXPECT_EQ(told.finish->error->code, errc::worker_failed);
      EXPECT_EQ(told.tokens.size(), 2u);
    } else {
      EXPECT_EQ(told.finish->reason, StopReason::length);
      EXPECT_EQ(told.tokens, alone[i].tokens) << i;
    }
  }
  EXPECT_EQ(choosing_.picks, 4 * 20u + 3) << "what was chosen before isn't chosen again";
}

}  // namespace
}  // namespace corral::engine::simulation
