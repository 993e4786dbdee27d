#include "simulation/engine/fake_memory.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/llama/memory_kind.h"
#include "engine/test_failing_allocations.h"

namespace corral::engine::simulation {

std::uint64_t next_hash(std::uint64_t before, Token token) {
  std::uint64_t x = before ^ (static_cast<std::uint64_t>(token) + 0x632BE59BD9B4E019ull);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

std::uint64_t next_hash(std::uint64_t before, Token token, const AdapterScales& adapters) {
  std::uint64_t hash = next_hash(before, token);
  for (const float scale : adapters) hash = next_hash(hash, static_cast<Token>(scale * 1000));
  return hash;
}

Token answer_to(std::uint64_t hash, std::uint32_t vocabulary) { return static_cast<Token>((hash >> 11) % vocabulary); }

namespace {

FakeMemoryOptions with_cells(FakeMemoryOptions options, std::uint32_t cells) {
  if (cells != 0) options.cells = cells;
  return options;
}

}  // namespace

FakeMemory::FakeMemory(FakeMemoryOptions options, KvShape shape, std::shared_ptr<Fate> fate)
    : options_(with_cells(std::move(options), shape.cells)), shape_(shape), fate_(std::move(fate)) {}

FakeMemory::~FakeMemory() = default;

std::uint32_t FakeMemory::sequence_ids() const {
  if (!shape_.unified()) return shape_.streams;
  return many_ids() ? 40 : options_.max_running;
}

FakeMemory::Cells& FakeMemory::at(std::int32_t sequence) {
  const std::int32_t at = sequence - first_sequence();
  const bool there = at >= 0 && at < static_cast<std::int32_t>(sequence_ids());
  if (!there && (sequence < 0 || sequence != spare_sequence()))
    broken(fmt::format("sequence {} doesn't exist", sequence));
  return sequences_[sequence];
}

void FakeMemory::forget(Cells& cells, std::size_t from) {
  for (std::size_t i = from; i < cells.size(); ++i) {
    if (--cells[i]->users == 0) --used_;
  }
  cells.resize(std::min(from, cells.size()));
}

std::uint32_t FakeMemory::oldest(std::int32_t sequence) const {
  const auto found = oldest_.find(sequence);
  return found == oldest_.end() ? 0 : found->second;
}

bool FakeMemory::can_cut(std::int32_t sequence, std::uint32_t length) const {
  return options_.divisible && oldest(sequence) <= oldest_seen(length, {.window = options_.window});
}

// Takes cells that nobody looks at any more, where there are too few: of the longest sequence first.
void FakeMemory::slide() {
  if (options_.window == 0) return;
  std::uint32_t taken = 0;
  std::vector<std::int32_t> ids;
  for (const auto& [sequence, cells] : sequences_) {
    taken += static_cast<std::uint32_t>(cells.size()) - std::min<std::uint32_t>(oldest(sequence), cells.size());
    ids.push_back(sequence);
  }
  std::ranges::sort(ids, {}, [this](std::int32_t id) { return std::pair(~sequences_[id].size(), id); });
  const std::uint32_t there = options_.window * options_.max_running + options_.batch;
  for (const std::int32_t id : ids) {
    const auto length = static_cast<std::uint32_t>(sequences_[id].size());
    const std::uint32_t max = oldest_seen(length, {.window = options_.window});
    const std::uint32_t now = oldest(id);
    if (taken <= there || max <= now) continue;
    const std::uint32_t more = std::min(taken - there, max - now);
    oldest_[id] = now + more;
    taken -= more;
  }
  if (taken > there) broken("more sequences than there are windows for");
}

bool FakeMemory::headroom_for(std::int32_t sequence, std::size_t more) {
  if (shape_.unified()) return used_ + more <= options_.cells;
  return at(sequence).size() + more <= options_.cells / shape_.streams;
}

void FakeMemory::put(std::int32_t sequence, Token token, std::uint64_t hash) {
  at(sequence).push_back(std::make_shared<Cell>(Cell{token, hash, 1}));
  ++used_;
}

DecodeStatus FakeMemory::decode(const Batch& batch) {
  const test::Watched spared(false);
  const DecodeStatus status = run(batch);
  if (options_.watch) options_.watch(batch, status);
  return status;
}

DecodeStatus FakeMemory::run(const Batch& batch) {
  const llama_batch& raw = batch.raw();
  const auto count = static_cast<std::size_t>(raw.n_tokens);
  const auto outputs = std::count_if(raw.logits, raw.logits + count, [](auto wanted) { return wanted != 0; });
  if (outputs > static_cast<std::ptrdiff_t>(options_.max_outputs))
    broken(fmt::format("{} rows of logits, where there is room for {}", outputs, options_.max_outputs));
  outputs_.clear();
  ++fate_->passes;
  moved_.clear();
  fate_->tokens += count;
  fate_->max_batch = std::max(fate_->max_batch, batch.size());
  if (count == 0) broken("an empty pass");
  if (count > options_.batch) broken("a pass with more tokens than a batch holds");

  std::unordered_map<std::int32_t, std::size_t> more;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t sequence = raw.seq_id[i][0];
    const std::size_t position = at(sequence).size() + more[sequence]++;
    if (!can_cut(sequence, static_cast<std::uint32_t>(at(sequence).size())) && options_.divisible)
      broken(fmt::format("sequence {} goes on without the cells of its window", sequence));
    if (raw.pos[i] != static_cast<llama_pos>(position))
      broken(fmt::format("sequence {} goes on at {}, the pass says {}", sequence, position, raw.pos[i]));
  }
  const std::size_t spare = more.contains(spare_sequence()) ? 1 : 0;
  if (more.size() > options_.max_running + spare) broken("more sequences in a pass than may run at a time");
  std::size_t all = 0;
  for (const auto& [sequence, tokens] : more) {
    all += tokens;
    if (!shape_.unified() && !headroom_for(sequence, tokens))
      return no_room(more.size() - spare, static_cast<std::size_t>(outputs));
  }
  if (shape_.unified() && used_ + all > options_.cells)
    return no_room(more.size() - spare, static_cast<std::size_t>(outputs));

  const auto poison = static_cast<std::size_t>(std::find(raw.token, raw.token + count, kPoison) - raw.token);
  if (poison < count || (more.size() > 1 && fate_->fail_in > 0 && --fate_->fail_in == 0)) {
    // A bad batch changes nothing; where computing goes wrong, what was finished stays.
    if (fate_->passes % 2 == 0) {
      compute(raw, std::min(poison, count / 2));
      lose_states();
    }
    outputs_.clear();
    return DecodeStatus::failed;
  }
  if (fate_->throw_in > 0 && --fate_->throw_in == 0) {
    compute(raw, count / 2);
    throw std::runtime_error("an exception out of libllama");
  }
  const bool aborted = fate_->abort_in > 0 && --fate_->abort_in == 0;
  slide();
  compute(raw, aborted ? count / 2 : count);
  if (aborted) lose_states();
  return aborted ? DecodeStatus::aborted : DecodeStatus::ok;
}

// What a pass that ended early does to a memory with one state per sequence (kv_memory.h).
void FakeMemory::lose_states() {
  if (options_.divisible) return;
  for (auto& [sequence, cells] : sequences_) clear(sequence);
}

void FakeMemory::compute(const llama_batch& raw, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t sequence = raw.seq_id[i][0];
    const Cells& cells = at(sequence);
    const std::uint64_t hash = next_hash(cells.empty() ? kEmptyHash : cells.back()->hash, raw.token[i], adapters_);
    put(sequence, raw.token[i], hash);
    if (raw.logits[i] != 0)
      outputs_[static_cast<std::int32_t>(i)] = static_cast<float>(answer_to(hash, options_.vocabulary));
  }
}

// Only guesses and padding rows make more rows of logits than there are sequences.
DecodeStatus FakeMemory::no_room(std::size_t sequences, std::size_t outputs) {
  if (outputs > sequences) broken("a pass with guesses or padding rows that doesn't fit");
  return DecodeStatus::no_room;
}

const float* FakeMemory::logits(std::int32_t row) {
  const auto found = outputs_.find(row);
  if (found != outputs_.end()) return &found->second;
  broken("logits of a row that has none");
  return nullptr;
}

std::uint32_t FakeMemory::length(std::int32_t sequence) const {
  const auto found = sequences_.find(sequence);
  return found == sequences_.end() ? 0 : static_cast<std::uint32_t>(found->second.size());
}

bool FakeMemory::trim(std::int32_t sequence, std::uint32_t keep) {
  const test::Watched spared(false);
  Cells& cells = at(sequence);
  if (cells.size() <= keep) return true;
  const bool cut = can_cut(sequence, keep);
  forget(cells, cut ? keep : 0);
  if (cells.empty()) oldest_.erase(sequence);
  return cut;
}

void FakeMemory::clear(std::int32_t sequence) {
  const test::Watched spared(false);
  forget(at(sequence), 0);
  oldest_.erase(sequence);
  moved_.erase(sequence);
}

bool FakeMemory::share(std::int32_t from, std::int32_t to, std::uint32_t shared) {
  const test::Watched spared(false);
  if (!options_.divisible) broken("sharing one state");
  if (!can_cut(from, shared)) broken("sharing a beginning without the cells of its window");
  Cells& source = at(from);
  if (source.size() < shared) broken("sharing more than there is");
  if (!at(to).empty()) broken("sharing into a sequence that isn't empty");
  if (!shape_.unified()) {
    for (std::uint32_t i = 0; i < shared; ++i) put(to, at(from)[i]->token, at(from)[i]->hash);
    return true;
  }
  Cells copy(source.begin(), source.begin() + shared);
  for (const auto& cell : copy) ++cell->users;
  at(to) = std::move(copy);
  if (options_.window > 0) oldest_[to] = std::max(oldest(from), oldest_seen(shared, {.window = options_.window}));
  slide();
  return true;
}

std::uint32_t FakeMemory::cells_of(std::span<const std::int32_t> sequences) const {
  const test::Watched spared(false);
  std::unordered_set<const Cell*> cells;
  for (const std::int32_t sequence : sequences) {
    const auto found = sequences_.find(sequence);
    if (found == sequences_.end()) continue;
    for (const auto& cell : found->second) cells.insert(cell.get());
  }
  return static_cast<std::uint32_t>(cells.size());
}

std::uint32_t FakeMemory::own_cells(std::int32_t sequence) const {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return 0;
  return static_cast<std::uint32_t>(
      std::ranges::count_if(found->second, [](const auto& cell) { return cell->users == 1; }));
}

bool FakeMemory::shift(std::int32_t sequence, std::uint32_t keep, std::uint32_t discard) {
  const test::Watched spared(false);
  Cells& cells = at(sequence);
  if (!can_shift()) broken("tokens go out of a memory that can't do that");
  if (cells.size() < keep + discard) broken("more tokens go than there are");
  if (own_cells(sequence) != cells.size()) broken("cells move that others have as well");
  const auto from = cells.begin() + keep;
  cells.erase(from, from + discard);
  used_ -= discard;
  std::uint64_t hash = kEmptyHash;
  for (const auto& cell : cells) cell->hash = hash = next_hash(hash, cell->token, adapters_);
  moved_.insert(sequence);
  return true;
}

std::vector<std::uint8_t> FakeMemory::save(std::int32_t sequence) {
  const test::Watched spared(false);
  if (moved_.contains(sequence)) broken("saving what moved before it is computed");
  std::vector<std::uint8_t> bytes;
  if (fate_->refuse_save > 0) {
    --fate_->refuse_save;
    return bytes;
  }
  for (const auto& cell : at(sequence)) {
    const std::size_t end = bytes.size();
    bytes.resize(end + sizeof cell->token + sizeof cell->hash);
    std::memcpy(bytes.data() + end, &cell->token, sizeof cell->token);
    std::memcpy(bytes.data() + end + sizeof cell->token, &cell->hash, sizeof cell->hash);
  }
  if (!bytes.empty() && options_.worker > 0) bytes.push_back(static_cast<std::uint8_t>(options_.worker));
  return bytes;
}

bool FakeMemory::restore(std::int32_t sequence, std::span<const std::uint8_t> bytes) {
  const test::Watched spared(false);
  if (!at(sequence).empty()) broken("restoring into a sequence that isn't empty");
  constexpr std::size_t kCell = sizeof(Token) + sizeof(std::uint64_t);
  if (!headroom_for(sequence, bytes.size() / kCell)) return false;
  if (options_.worker != (bytes.size() % kCell == 0 ? 0 : bytes.back())) ++fate_->crossed;
  for (std::size_t i = 0; i + kCell <= bytes.size(); i += kCell) {
    Token token = 0;
    std::uint64_t hash = 0;
    std::memcpy(&token, bytes.data() + i, sizeof token);
    std::memcpy(&hash, bytes.data() + i + sizeof token, sizeof hash);
    put(sequence, token, hash);
  }
  // What is saved is what will be looked at, and one more.
  const std::uint32_t seen = oldest_seen(length(sequence), {.window = options_.window});
  if (options_.window > 0) oldest_[sequence] = seen - std::min(seen, 1u);
  slide();
  return true;
}

}  // namespace corral::engine::simulation
