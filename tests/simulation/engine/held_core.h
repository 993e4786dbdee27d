// For tests of a core by hand: sessions over a fake memory, round by round.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/schedule/cpu_costs.h"
#include "engine/values/errors.h"
#include "engine/worker/worker_core.h"
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

inline std::vector<Token> some(std::uint32_t count, std::uint32_t from) {
  std::vector<Token> tokens;
  for (std::uint32_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<Token>(next_hash(from * 1000 + i, 7) % kVocabulary));
  return tokens;
}

struct Chat {
  std::shared_ptr<SessionShared> shared;
  std::vector<Token> history = {};
  StreamHandle stream = {};
  std::vector<Token> answered = {};
  std::vector<PromptProgress> progress = {};
  std::optional<Finish> finish = {};
};

class HeldCore : public ::testing::Test {
 protected:
  void start(WorkerOptions options = {}, CpuCostOptions costs = {}) {
    options.max_sequences = 8;
    options.prefix_cache_tokens = 512;
    options.threads = threads_;
    options.lane_tokens = 60;
    const KvMaker make = [this](KvShape shape) -> Result<std::unique_ptr<KvMemory>> {
      if (refuses_) return fail(errc::out_of_memory, "no memory");
      return std::make_unique<FakeMemory>(memory_, shape, fate_);
    };
    WorkerCore::Parts parts{.tokens = tokens_,
                            .memory = *make({}),
                            .make = make,
                            .box = box_,
                            .store = store_,
                            .costs = std::make_unique<CpuCosts>(costs),
                            .drafter = nullptr,
                            .lane = nullptr,
                            .clock = [this] { return now_ += Millis{1}; }};
    fit(parts);
    core_ = std::make_unique<WorkerCore>(std::move(parts), options);
  }
  // What else a core has.
  virtual void fit(WorkerCore::Parts& /*parts*/) {}
  // What others do beside it.
  virtual void work() {}
  // Everybody has said what the fake model says.
  void TearDown() override {
    for (std::uint32_t i = 0; i < 1000; ++i) {
      work();
      rounds(1);
    }
    for (const auto& chat : chats_) {
      read(*chat);
      EXPECT_TRUE(chat->finish) << chat->shared->id.value();
    }
    EXPECT_EQ(fate_->violation, "");
  }

  using Picker = std::unique_ptr<TokenPicker>;
  Chat& chat(std::vector<Token> prompt, std::uint32_t max, Picker picker = std::make_unique<FakePicker>()) {
    Chat& chat = *chats_.emplace_back(std::make_unique<Chat>());
    chat.shared = std::make_shared<SessionShared>(SessionId(chats_.size()), 400);
    box_->post(CreateSession{chat.shared, true});
    go_on(chat, std::move(prompt), max, std::move(picker));
    return chat;
  }
  void go_on(Chat& chat, std::vector<Token> prompt, std::uint32_t max, Picker picker = std::make_unique<FakePicker>()) {
    chat.history.insert(chat.history.end(), prompt.begin(), prompt.end());
    chat.answered.clear();
    chat.progress.clear();
    chat.finish.reset();
    box_->post(AppendTokens{chat.shared->id, std::move(prompt)});
    auto stream = std::make_shared<StreamState>(
        0, StreamState::Owner{.drained = [] {},
                              .cancelled = [box = box_, id = chat.shared->id] { box->post(CancelGeneration{id}); }});
    chat.stream = StreamHandle(stream);
    Generation generation;
    generation.stream = std::move(stream);
    generation.ticket = *in_flight_.enter();
    generation.sampler = std::move(picker);
    generation.max_new_tokens = max;
    generation.report_prompt = true;
    generation.posted = now_;
    ++chat.shared->generations;
    box_->post(StartGeneration{chat.shared->id, std::move(generation)});
  }
  void rounds(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      core_->take_commands(false);
      core_->round();
    }
  }
  void read(Chat& chat) {
    while (auto chunk = chat.stream.try_next()) {
      chat.progress.insert(chat.progress.end(), chunk->prompt.begin(), chunk->prompt.end());
      for (const Token token : chunk->tokens) {
        std::uint64_t hash = kEmptyHash;
        for (const Token before : chat.history) hash = next_hash(hash, before);
        EXPECT_EQ(token, answer_to(hash, kVocabulary));
        chat.history.push_back(token);
        chat.answered.push_back(token);
      }
      if (chunk->finish) chat.finish = std::move(chunk->finish);
    }
  }
  bool is_through(Chat& chat) {
    read(chat);
    return chat.finish.has_value();
  }

  FakeMemoryOptions memory_ = {
      .cells = 1024, .batch = 32, .max_running = 8, .vocabulary = kVocabulary, .divisible = true};
  const EndlessTokens tokens_;
  const std::shared_ptr<Fate> fate_ = std::make_shared<Fate>();
  const std::shared_ptr<CommandBox> box_ = std::make_shared<CommandBox>();
  std::shared_ptr<ParkedStore> store_ = std::make_shared<ParkedStore>(ParkedStoreOptions{
      .memory_bytes = 1 << 20, .whole_only = false, .folder = {}, .fingerprint = {}, .folder_bytes = 0});
  SetThreads threads_ = {4, 4};
  bool refuses_ = false;  // memories to come
  InFlight in_flight_;
  MonoTime now_{};
  std::unique_ptr<WorkerCore> core_;
  std::vector<std::unique_ptr<Chat>> chats_;
};

}  // namespace corral::engine::simulation
