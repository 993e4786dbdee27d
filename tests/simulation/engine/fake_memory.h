// A KV memory without a model. Each cell remembers the token it was computed from and a hash of everything before it;
// the "logits" after a token are that hash. So a session that was given wrong, missing or doubled cells says something
// else than its history asks for, and the world notices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/kv/kv_memory.h"

namespace corral::engine::simulation {

inline constexpr std::uint64_t kEmptyHash = 0x9E3779B97F4A7C15ull;
std::uint64_t next_hash(std::uint64_t before, Token token);
// Computed with these adapters.
std::uint64_t next_hash(std::uint64_t before, Token token, const AdapterScales& adapters);
// What the fake model says after a history with this hash: a token of 0 .. vocabulary - 1.
Token answer_to(std::uint64_t hash, std::uint32_t vocabulary);

struct FakeMemoryOptions {
  std::uint32_t cells = 256;
  std::uint32_t batch = 32;
  std::uint32_t max_running = 4;  // sequences in one pass
  std::uint32_t vocabulary = 100;
  bool divisible = true;
  // Some layers look at so many tokens only, and have cells for as many of each sequence that may run, and a batch; 0:
  // every cell stays.
  std::uint32_t window = 0;
  std::uint32_t max_outputs = ~0u;         // rows of logits in one pass
  std::uint32_t worker = 0;                // whose memory it is; saved bytes tell, but for those of worker 0
  std::shared_ptr<const void> alive = {};  // how often it is held tells how many memories there are
  std::function<void(const Batch&, DecodeStatus)> watch = {};  // hears of each pass, before the worker does
};

// A token that no pass can be computed with; nothing the fake model says.
inline constexpr Token kPoison = 1'000'000;

// What happens outside of the memory's rules; shared by all memories of a world.
struct Fate {
  std::uint32_t abort_in = 0;     // passes until one is aborted halfway; 0: never
  std::uint32_t fail_in = 0;      // passes of several sequences until one fails, for no lasting reason; 0: never
  std::uint32_t throw_in = 0;     // passes until one throws halfway; 0: never
  bool throw_make = false;        // the next make throws
  bool throw_thread = false;      // the lane's next job can't be started
  std::uint32_t refuse_make = 0;  // so many makes fail
  std::uint32_t refused = 0;      // and have failed
  std::uint32_t disk_stalls = 0;  // so many rounds
  std::uint32_t refuse_save = 0;  // so many times a sequence can't be saved
  std::string violation;          // the first rule that a caller broke
  std::uint64_t passes = 0, tokens = 0;
  std::uint64_t crossed = 0;  // times that a worker put back what another one had saved
  std::uint32_t max_batch = 0;

  void broken(std::string rule) {
    if (violation.empty()) violation = std::move(rule);
  }
};

class FakeMemory final : public KvMemory {
 public:
  FakeMemory(FakeMemoryOptions options, KvShape shape, std::shared_ptr<Fate> fate);
  ~FakeMemory() override;

  void set_adapters(const AdapterScales& scales) override { adapters_ = scales; }
  DecodeStatus decode(const Batch& batch) override;
  const float* logits(std::int32_t row) override;
  void set_threads(std::int32_t, std::int32_t) override {}
  KvShape shape() const override { return shape_; }
  std::uint32_t n_ctx() const override { return options_.cells; }
  std::uint32_t n_batch() const override { return options_.batch; }
  std::int32_t first_sequence() const override { return shape_.unified() && many_ids() ? 1 : 0; }
  std::uint32_t sequence_ids() const override;
  bool divisible() const override { return options_.divisible; }
  bool can_cut(std::int32_t sequence, std::uint32_t length) const override;
  std::uint32_t length(std::int32_t sequence) const override;
  bool trim(std::int32_t sequence, std::uint32_t length) override;
  // The cells are what the history without those tokens would have come to.
  bool can_shift() const override { return many_ids(); }
  bool shift(std::int32_t sequence, std::uint32_t keep, std::uint32_t discard) override;
  void clear(std::int32_t sequence) override;
  bool share(std::int32_t from, std::int32_t to, std::uint32_t length) override;
  std::vector<std::uint8_t> save(std::int32_t sequence) override;
  bool restore(std::int32_t sequence, std::span<const std::uint8_t> bytes) override;

  std::uint32_t cells_of(std::span<const std::int32_t> sequences) const override;
  std::uint32_t own_cells(std::int32_t sequence) const override;
  std::uint32_t free_cells() const override { return options_.cells - std::min(options_.cells, used_); }

 private:
  struct Cell {
    Token token;
    std::uint64_t hash;  // of this and all before
    std::uint32_t users;
  };
  using Cells = std::vector<std::shared_ptr<Cell>>;

  bool many_ids() const { return options_.divisible && options_.window == 0; }
  std::uint32_t oldest(std::int32_t sequence) const;
  void slide();
  void lose_states();

  void broken(std::string rule) { fate_->broken(std::move(rule)); }
  DecodeStatus run(const Batch& batch);
  void compute(const llama_batch& batch, std::size_t count);
  DecodeStatus no_room(std::size_t sequences, std::size_t outputs);
  Cells& at(std::int32_t sequence);
  void forget(Cells& cells, std::size_t from);
  bool headroom_for(std::int32_t sequence, std::size_t more);
  void put(std::int32_t sequence, Token token, std::uint64_t hash);

  const FakeMemoryOptions options_;
  const KvShape shape_;
  const std::shared_ptr<Fate> fate_;
  std::unordered_map<std::int32_t, Cells> sequences_;
  std::unordered_map<std::int32_t, std::uint32_t> oldest_;  // tokens in front that layers with a window have no more
  AdapterScales adapters_;
  std::set<std::int32_t> moved_;  // since the latest pass
  std::uint32_t used_ = 0;
  std::unordered_map<std::int32_t, float> outputs_;  // by row
};

}  // namespace corral::engine::simulation
