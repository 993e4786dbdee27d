// A worker's core over a fake memory, for tests that look at its passes one by one.
#pragma once

#include <gtest/gtest.h>

#include "engine/worker_core.h"
#include "simulation/engine/fake_memory.h"
#include "simulation/engine/fake_parts.h"

namespace corral::engine::simulation {

// Nothing that is said ends an answer.
class EndlessTokens final : public TokenTable {
 public:
  std::uint32_t size() const override { return kVocabulary; }
  void append_piece(Token token, bool, std::string& to) const override { to.push_back(static_cast<char>('A' + token)); }
  bool ends_generation(Token) const override { return false; }
};

class CoreAlone : public ::testing::Test {
 protected:
  void start(std::unique_ptr<CostModel> costs, WorkerOptions options = {}) {
    options.max_sequences = 8;
    const KvMaker make = [this](KvShape shape) -> Result<std::unique_ptr<KvMemory>> {
      return std::make_unique<FakeMemory>(memory_, shape, fate_);
    };
    core_ = std::make_unique<WorkerCore>(WorkerCore::Parts{.tokens = tokens_,
                                                           .memory = *make({}),
                                                           .make = make,
                                                           .box = box_,
                                                           .store = nullptr,
                                                           .costs = std::move(costs),
                                                           .drafter = nullptr,
                                                           .lane = nullptr,
                                                           .clock = [this] { return now_ += Millis{1}; }},
                                         options);
  }
  // A session with so many tokens that says `most`.
  StreamHandle& chat(std::uint32_t tokens, std::uint32_t most,
                     std::unique_ptr<TokenPicker> picker = std::make_unique<FakePicker>()) {
    const auto shared = std::make_shared<SessionShared>(SessionId(streams_.size() + 1), 400);
    box_->post(CreateSession{shared, true});
    box_->post(AppendTokens{shared->id, std::vector<Token>(tokens, static_cast<Token>(streams_.size()))});
    auto stream = std::make_shared<StreamState>(0, StreamState::Owner{.drained = [] {}, .cancelled = [] {}});
    Generation generation;
    generation.stream = stream;
    generation.ticket = *in_flight_.enter();
    generation.sampler = std::move(picker);
    generation.max_new_tokens = most;
    generation.posted = now_;
    ++shared->generations;
    box_->post(StartGeneration{shared->id, std::move(generation)});
    return *streams_.emplace_back(std::make_unique<StreamHandle>(std::move(stream)));
  }
  void rounds(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      core_->take_commands(false);
      core_->round();
    }
    EXPECT_EQ(fate_->violation, "");
  }

  const FakeMemoryOptions memory_ = {
      .cells = 1024, .batch = 32, .most_running = 8, .vocabulary = kVocabulary, .divisible = true};
  const EndlessTokens tokens_;
  const std::shared_ptr<Fate> fate_ = std::make_shared<Fate>();
  const std::shared_ptr<CommandBox> box_ = std::make_shared<CommandBox>();
  InFlight in_flight_;
  MonoTime now_{};
  std::unique_ptr<WorkerCore> core_;
  std::vector<std::unique_ptr<StreamHandle>> streams_;
};

}  // namespace corral::engine::simulation
