// What goes into a pass is what the worker's cost model says: one that says what it is told to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/engine/held_core.h"

namespace corral::engine::simulation {
namespace {

using testing::Each;
using testing::ElementsAre;

// What a cost model says, and what it heard.
struct Script {
  std::uint32_t at_once = 100;  // most streams of a pass
  std::uint32_t padding = 0;    // rows for nobody
  std::uint32_t prompts = 100;  // tokens beside streams
  KvShape shape = {};
  std::vector<PassTime> passes = {};
};

class ScriptedCosts final : public CostModel {
 public:
  explicit ScriptedCosts(Script& script) : script_(script) {}
  const PassCosts& rows() const override { return rows_; }
  std::uint32_t max_padding() const override { return script_.padding; }
  std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t padding) const override { return rows + padding; }
  Turn turn(std::uint32_t running, std::uint32_t) override { return {.sessions = std::min(running, script_.at_once)}; }
  std::uint32_t prompt_allowance(const PromptsView&) const override { return script_.prompts; }
  bool may_split() const override { return !script_.shape.unified(); }
  KvShape layout(std::span<const LayoutView>, LayoutFacts) override { return script_.shape; }
  void memory_made(double) override {}
  void observe(const PassTime& pass) override { script_.passes.push_back(pass); }
  void share_threads(bool) override {}

 private:
  Script& script_;
  const FlatRows rows_;
};

class CostsOfCore : public HeldCore {
 protected:
  CostsOfCore() { start(); }
  void fit(WorkerCore::Parts& parts) override { parts.costs = std::make_unique<ScriptedCosts>(script_); }
  // A session with so many tokens that goes on for a while.
  void chat(std::uint32_t tokens) { HeldCore::chat(some(tokens, static_cast<std::uint32_t>(chats_.size())), 200); }
  // The passes of so many rounds.
  std::vector<PassTime> rounds(std::uint32_t count) {
    script_.passes.clear();
    HeldCore::rounds(count);
    return script_.passes;
  }

  Script script_;
};

TEST_F(CostsOfCore, HowManyStreamsGoAtOnce) {
  for (int i = 0; i < 3; ++i) chat(4);
  rounds(5);
  EXPECT_THAT(rounds(4), Each(testing::Field(&PassTime::rows, 3u)));
  script_.at_once = 2;
  EXPECT_THAT(rounds(4), Each(testing::Field(&PassTime::rows, 2u)));
}

TEST_F(CostsOfCore, HowFarAPassIsFilledUp) {
  for (int i = 0; i < 3; ++i) chat(4);
  rounds(5);
  script_.padding = 5;
  EXPECT_THAT(rounds(2),
              Each(testing::AllOf(testing::Field(&PassTime::rows, 8u), testing::Field(&PassTime::prefill, 0u),
                                  testing::Field(&PassTime::may_fill, true))));
}

TEST_F(CostsOfCore, HowManyPromptTokensGoBesideStreams) {
  chat(4);
  rounds(20);
  script_.prompts = 7;
  chat(20);
  std::vector<std::uint32_t> prefill;
  for (const PassTime& pass : rounds(4)) {
    EXPECT_EQ(pass.decoding, pass.prefill > 0 ? 1u : 2u);
    prefill.push_back(pass.prefill);
  }
  EXPECT_THAT(prefill, ElementsAre(7u, 7u, 6u, 0u));
}

TEST_F(CostsOfCore, HowCellsAreLaidOut) {
  for (int i = 0; i < 2; ++i) chat(4);
  rounds(5);
  EXPECT_EQ(core_->stats().kv_streams, 0u);
  script_.shape = {.streams = 4};
  rounds(2);
  EXPECT_EQ(core_->stats().kv_streams, 4u);
}

}  // namespace
}  // namespace corral::engine::simulation
