// For tests of a worker's parts: the components over a memory that only counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/kv/cell_count.h"
#include "engine/schedule/flat_costs.h"
#include "engine/values/errors.h"
#include "engine/worker/worker_components.h"

namespace corral::engine::test {

// Knows how long each sequence is. A saved one has a byte for each of its cells.
class CountingMemory final : public KvMemory {
 public:
  explicit CountingMemory(KvShape shape, std::uint32_t cells) : shape_(shape), cells_(cells) {}

  DecodeStatus next = DecodeStatus::ok;  // of the passes to come; nothing is computed unless it is ok
  SetThreads threads;

  DecodeStatus decode(const Batch& batch) override {
    const llama_batch& raw = batch.raw();
    for (std::int32_t i = 0; next == DecodeStatus::ok && i < raw.n_tokens; ++i) {
      const auto end = static_cast<std::uint32_t>(raw.pos[i]) + 1;
      count_.set(raw.seq_id[i][0], lengths_[at(raw.seq_id[i][0])] = end);
    }
    return next;
  }
  const float* logits(std::int32_t) override { return &logit_; }
  void set_threads(std::int32_t n, std::int32_t n_batch) override { threads = {n, n_batch}; }
  KvShape shape() const override { return shape_; }
  std::uint32_t n_ctx() const override { return cells_; }
  std::uint32_t n_batch() const override { return 16; }
  std::uint32_t free_cells() const override { return cells_ - std::min(cells_, count_.used()); }
  std::uint32_t cells_of(std::span<const std::int32_t> sequences) const override { return count_.used_by(sequences); }
  std::uint32_t own_cells(std::int32_t sequence) const override { return count_.own(sequence); }
  std::int32_t first_sequence() const override { return shape_.unified() ? 1 : 0; }
  std::uint32_t sequence_ids() const override { return shape_.unified() ? 10 : shape_.streams; }
  bool divisible() const override { return true; }
  std::uint32_t length(std::int32_t sequence) const override { return lengths_[at(sequence)]; }
  bool trim(std::int32_t sequence, std::uint32_t length) override {
    if (length < lengths_[at(sequence)]) count_.set(sequence, lengths_[at(sequence)] = length);
    return true;
  }
  void clear(std::int32_t sequence) override { trim(sequence, 0); }
  bool share(std::int32_t from, std::int32_t to, std::uint32_t length) override {
    count_.share(from, to, lengths_[at(to)] = length);
    return true;
  }
  std::vector<std::uint8_t> save(std::int32_t sequence) override {
    return std::vector<std::uint8_t>(lengths_[at(sequence)]);
  }
  bool restore(std::int32_t sequence, std::span<const std::uint8_t> bytes) override {
    if (bytes.size() > free_cells()) return false;
    count_.set(sequence, lengths_[at(sequence)] = static_cast<std::uint32_t>(bytes.size()));
    return true;
  }

 private:
  static std::size_t at(std::int32_t sequence) { return static_cast<std::size_t>(sequence); }

  const KvShape shape_;
  const std::uint32_t cells_;
  CellCount count_;
  std::vector<std::uint32_t> lengths_ = std::vector<std::uint32_t>(16);
  float logit_ = 0;
};

// Which memories can be allocated, and the shapes that were requested.
struct MemoryMaker {
  std::uint32_t cells = 100;    // of the first one
  std::uint32_t largest = ~0u;  // none has more
  bool parts = true;            // there may be layouts in parts
  bool any = true;              // there may be one at all
  std::vector<KvShape> asked = {};

  Result<std::unique_ptr<KvMemory>> operator()(KvShape shape) {
    asked.push_back(shape);
    const std::uint32_t size = shape.cells == 0 ? cells : shape.cells;
    if (!any || size > largest || (!parts && !shape.unified())) return fail(errc::out_of_memory, "too little");
    return std::make_unique<CountingMemory>(shape, size);
  }
};

// An executor that runs its tasks when the test says so.
class ManualExecutor final : public BackgroundExecutor {
 public:
  bool run(BackgroundTask task) noexcept override {
    if (takes) tasks_.push_back(std::move(task));
    return takes;
  }
  void work() {
    for (BackgroundTask& task : std::exchange(tasks_, {})) task();
  }
  bool takes = true;

 private:
  std::vector<BackgroundTask> tasks_;
};

// Records its calls.
struct LaneNotes {
  std::vector<PrefillJob> jobs;
  std::uint32_t stops = 0;
  std::int32_t threads = 0;
};
class NotingLane final : public PrefillLane {
 public:
  explicit NotingLane(LaneNotes& notes) : notes_(notes) {}
  void start(PrefillJob job) override { notes_.jobs.push_back(std::move(job)); }
  void stop() override { ++notes_.stops; }
  void set_threads(std::int32_t n) override { notes_.threads = n; }

 private:
  LaneNotes& notes_;
};

// A token is a letter.
class Letters final : public TokenTable {
 public:
  std::uint32_t size() const override { return 26; }
  void append_piece(Token token, bool, std::string& to) const override { to.push_back(static_cast<char>('a' + token)); }
  bool ends_generation(Token) const override { return false; }
};

// The parts of a worker, and sessions to try them on.
class Parts : public ::testing::Test {
 protected:
  explicit Parts(
      WorkerOptions with = {.max_sequences = 4, .prefix_cache_tokens = 50, .threads = {4, 6}, .lane_tokens = 20})
      : options(with) {}

  // A session with so many tokens, that waits with a generation of so many more.
  Session& waiting(std::uint32_t tokens, std::uint32_t max = 5) {
    const SessionId id(++sessions_made);
    Session& session = sessions.add(std::make_shared<SessionShared>(id, 1000), true);
    session.history.resize(tokens);
    std::iota(session.history.begin(), session.history.end(), static_cast<Token>(1000 * sessions_made));
    session.shared->tokens = tokens;
    Generation& generation = session.generation.emplace();
    generation.order = sessions_made;
    generation.max_new_tokens = max;
    generation.usage.prompt_tokens = tokens;
    generation.stream = std::make_shared<StreamState>(0, StreamState::Owner{.drained = [] {}, .cancelled = [] {}});
    ++session.shared->generations;
    sessions.wait(session);
    return session;
  }
  // All of it is in cells but the last token, which it has sampled.
  void stream(Session& session) {
    compute(session, static_cast<std::uint32_t>(session.history.size()) - 1);
    session.generation->usage.completion_tokens = 1;
  }
  // It runs, and so many of its tokens are in cells.
  void compute(Session& session, std::uint32_t tokens) {
    if (session.sequence < 0) EXPECT_TRUE(sequences.put_back(session, tokens, std::vector<std::uint8_t>(tokens)));
    if (session.phase() != Phase::active) sessions.activate(session);
  }
  static std::optional<Finish> end_of(const std::shared_ptr<StreamState>& stream) {
    while (auto chunk = stream->try_next()) {
      if (chunk->finish) return chunk->finish;
    }
    return std::nullopt;
  }

  static WorkerParts parts_of(Parts& test) {
    auto lane = std::make_unique<NotingLane>(test.notes);
    auto costs = std::make_unique<FlatCosts>();
    test.costs = costs.get();
    return {.tokens = test.letters,
            .memory = *(*test.maker)({}),
            .make = [maker = test.maker](KvShape shape) { return (*maker)(shape); },
            .growth = [](const KvMemory& memory, std::uint32_t needed) { return std::max(2 * memory.n_ctx(), needed); },
            .box = std::make_shared<CommandBox>(),
            .store = nullptr,
            .costs = std::move(costs),
            .drafter = nullptr,
            .lane = std::move(lane),
            .clock = [&test] { return test.now; }};
  }

  const WorkerOptions options;
  MonoTime now{};
  std::uint64_t sessions_made = 0;
  const std::shared_ptr<MemoryMaker> maker = std::make_shared<MemoryMaker>();
  LaneNotes notes;
  const Letters letters;
  FlatCosts* costs = nullptr;
  WorkerComponents components{parts_of(*this), options};
  SessionTable& sessions = components.sessions;
  Sequences& sequences = components.sequences;
  KvMemoryManager& kv = components.kv;
  PrefillLaneController& lane = components.lane;
  GenerationFinisher& finisher = components.finisher;
  AdmissionController& admission = components.admission;
  WorkerStats& counters = components.counters;
  FaultScope& faults = components.faults;
};

}  // namespace corral::engine::test
