// What a worker's core needs beside its memory: a vocabulary, a picker, guesses and a lane, without a model.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/kv/token_table.h"
#include "engine/schedule/drafter.h"
#include "engine/schedule/prefill_lane.h"
#include "engine/threads/background_executor.h"
#include "engine/worker/commands.h"
#include "simulation/engine/fake_memory.h"

namespace corral::engine::simulation {

inline constexpr std::uint32_t kVocabulary = 61;
inline constexpr Token kEndToken = 60;

class FakeTokens final : public TokenTable {
 public:
  std::uint32_t size() const override { return kVocabulary; }
  void append_piece(Token token, bool, std::string& to) const override {
    if (token != kEndToken) to.push_back(static_cast<char>('A' + token));
  }
  bool ends_generation(Token token) const override { return token == kEndToken; }
};

class FakePicker final : public TokenPicker {
 public:
  void prime(std::span<const Token>) override {}
  Result<Token> sample(const float* logits) override { return static_cast<Token>(*logits); }
  Drawn drawn(std::uint32_t) override { return {}; }
};

// Right, wrong or silent, as it happens.
class FakeDrafter final : public Drafter {
 public:
  explicit FakeDrafter(std::uint64_t seed) : random_(seed) {}
  void draft(SessionId session, std::span<const Token> history, const DraftBudget& budget,
             std::vector<DraftToken>& to) override;
  void forget(SessionId) override {}
  void downsize() override {}

 private:
  std::mt19937_64 random_;
};

// Runs each task some rounds later, in their order, and none while the disk stalls.
class FakeChores final : public BackgroundExecutor {
 public:
  FakeChores(std::shared_ptr<Fate> fate, std::uint64_t seed) : fate_(std::move(fate)), random_(seed) {}
  bool run(BackgroundTask task) noexcept override;
  void round();

 private:
  const std::shared_ptr<Fate> fate_;
  std::mt19937_64 random_;
  std::deque<BackgroundTask> tasks_;
};

// Takes some rounds, all at once at their end.
class FakeLane final : public PrefillLane {
 public:
  FakeLane(LaneMemoryMaker make, std::shared_ptr<CommandBox> box, std::shared_ptr<Fate> fate, std::uint64_t seed)
      : make_(std::move(make)), box_(std::move(box)), fate_(std::move(fate)), random_(seed) {}
  void start(PrefillJob job) override;
  void stop() override { stop_ = true; }
  void set_threads(std::int32_t n_threads) override { n_threads_ = n_threads; }

  void round();
  bool busy() const { return job_.has_value(); }
  bool started_twice() const { return twice_; }

 private:
  const LaneMemoryMaker make_;
  const std::shared_ptr<CommandBox> box_;
  const std::shared_ptr<Fate> fate_;
  std::mt19937_64 random_;
  std::optional<PrefillJob> job_;
  std::uint64_t rounds_ = 0;
  bool twice_ = false;
  std::atomic<bool> stop_ = false;
  std::atomic<std::int32_t> n_threads_ = 1;
};

}  // namespace corral::engine::simulation
