#include "engine/llama/context.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "engine/llama/context_params.h"
#include "engine/llama/llama_log.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

constexpr std::int32_t kSpareId = 0;
// Format of a sequence that libllama saves: a magic number and the sequence's id, the number of streams, then one part
// per stream. A part is a single zero, except that of the stream with the sequence.
constexpr std::size_t kHeadBytes = sizeof(std::uint32_t) + sizeof(llama_seq_id);
constexpr std::size_t kCountBytes = sizeof(std::uint32_t);
constexpr std::uint32_t kOneStream = 1;

bool rotates_in_dimensions(const Model& model) {
  const auto rope = llama_model_rope_type(model.handle());
  return rope == LLAMA_ROPE_TYPE_MROPE || rope == LLAMA_ROPE_TYPE_IMROPE;
}

}  // namespace

Result<std::unique_ptr<LlamaContext>> LlamaContext::make(std::shared_ptr<const Model> model,
                                                         const EngineLoadOptions& options,
                                                         const std::atomic<bool>& abort, KvShape shape) {
  const ModelFacts& facts = model->facts();
  auto made = context_params(*model, options, shape);
  if (!made) return std::unexpected(made.error());
  llama_context_params& params = *made;
  params.abort_callback = [](void* flag) {
    return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
  };
  params.abort_callback_data = const_cast<std::atomic<bool>*>(&abort);

  const LogCapture log;
  llama_context* const handle = llama_init_from_model(model->handle(), params);
  if (handle == nullptr) {
    Error error = load_failed(log.speaks_of_memory() ? errc::out_of_memory : errc::unsupported,
                              {facts.path, fmt::format("no context of {} tokens: {}", params.n_ctx, log.text())});
    error.param = "n_ctx";
    return std::unexpected(std::move(error));
  }
  model->apply_adapters(handle);
  return std::unique_ptr<LlamaContext>(new LlamaContext(std::move(model), handle, shape, params));
}

LlamaContext::LlamaContext(std::shared_ptr<const Model> model, llama_context* handle, KvShape shape,
                           const llama_context_params& params)
    : model_(std::move(model)),
      handle_(handle),
      memory_(llama_get_memory(handle)),
      shape_(shape),
      rules_(model_->memory_rules()),
      narrow_(model_->facts().window > 0 && !params.swa_full),
      // In a unified layout, ids above n_seq_max work as long as at most n_seq_max are active; but only lower ids can
      // be saved, so the first id is reserved for that. A recurrent state and a split cache have exactly n_seq_max
      // sequences, and sliding windows have cells for as many.
      spare_ids_(model_->facts().kind == ModelKind::generative && rules_.many_ids && shape.unified()),
      sequence_ids_(spare_ids_ ? kMaxSequences - 1 : params.n_seq_max),
      counts_cells_(!llama_model_is_recurrent(model_->handle())),
      multiple_(memory_ != nullptr && rotates_in_dimensions(*model_)),
      positions_(multiple_ ? kMaxSequences : 0) {}

DecodeStatus LlamaContext::decode(const Batch& batch) {
  if (batch.size() == 0) return DecodeStatus::ok;
  if (batch.size() > n_batch()) return DecodeStatus::failed;
  llama_batch raw = batch.raw();
  if (multiple_) {
    place(batch);
    raw.pos = placed_.data();
  }
  const bool both_ways = batch.media() != nullptr && batch.media()->piece->both_ways;
  if (both_ways) llama_set_causal_attn(handle_.get(), false);
  const std::int32_t status = llama_decode(handle_.get(), raw);
  if (both_ways) llama_set_causal_attn(handle_.get(), true);
  llama_synchronize(handle_.get());  // a GPU still computes after the call; the time of the pass is measured
  if (multiple_) note_computed(batch, status);
  for (std::int32_t i = 0; i < raw.n_tokens; ++i) {
    if (i == 0 || raw.seq_id[i][0] != raw.seq_id[i - 1][0]) recount(raw.seq_id[i][0]);
  }
  // Before a pass libllama 0.5.0 records which states it will move or set to zero, also those of sequences that are not
  // in the pass. A pass that ends early has not done so, and the records remain.
  const bool cut_short = status == 2 || status < -1;
  if (cut_short && !divisible()) clear_all();
  switch (status) {
    case 0:
      return DecodeStatus::ok;
    case 1:
      return DecodeStatus::no_room;
    case 2:
      return DecodeStatus::aborted;
    default:
      return DecodeStatus::failed;
  }
}

// The positions of its rows: one each for tokens; for cells first all of one dimension, then all of the next one.
void LlamaContext::place(const Batch& batch) {
  const llama_batch& raw = batch.raw();
  const auto rows = static_cast<std::size_t>(raw.n_tokens);
  const MediaSpan* const media = batch.media();
  placed_.resize(rows * (media != nullptr ? CellPosition().size() : 1));
  for (std::size_t i = 0; i < rows; ++i) {
    const auto index = static_cast<std::uint32_t>(raw.pos[i]);
    const std::int32_t sequence = raw.seq_id[i][0];
    if (media == nullptr) {
      placed_[i] = position(sequence, index);
      continue;
    }
    const auto begin = static_cast<std::uint32_t>(position(sequence, media->begin));
    const CellPosition cell = media->piece->position(index - media->begin, begin);
    for (std::size_t d = 0; d < cell.size(); ++d) placed_[d * rows + i] = static_cast<llama_pos>(cell[d]);
  }
}

void LlamaContext::note_computed(const Batch& batch, std::int32_t status) {
  constexpr std::int32_t kNoRoom = 1;
  if (status == kNoRoom) return;
  const llama_batch& raw = batch.raw();
  if (const MediaSpan* const media = batch.media()) {
    const std::int32_t sequence = raw.seq_id[0][0];
    SequencePositions& positions = positions_of(sequence);
    if (static_cast<std::uint32_t>(raw.pos[0]) == media->begin) positions.begin_piece(*media->piece);
    positions.add(batch.size());
    // Its cells may all have one position, so a part of them can't be kept.
    if (status != 0) trim(sequence, media->begin);
    return;
  }
  for (std::int32_t i = 0; i < raw.n_tokens; ++i) {
    const std::int32_t sequence = raw.seq_id[i][0];
    SequencePositions& positions = positions_of(sequence);
    if (status == 0) {
      positions.add(1);
      continue;
    }
    const auto there = static_cast<std::uint32_t>(llama_memory_seq_pos_max(memory_, sequence) + 1);
    const std::uint32_t known = positions.position(positions.length());
    positions.add(std::max(there, known) - known);
  }
}

void LlamaContext::set_adapters(const AdapterScales& scales) {
  if (scales == adapters_) return;
  AdapterScales now = scales;
  model_->apply_adapters(handle_.get(), now);
  adapters_ = std::move(now);
}

void LlamaContext::recount(std::int32_t sequence) {
  if (shape_.unified()) cells_.set(sequence, length(sequence));
}

std::uint32_t LlamaContext::length(std::int32_t sequence) const {
  if (memory_ == nullptr) return 0;
  if (multiple_) return positions_of(sequence).length();
  return static_cast<std::uint32_t>(llama_memory_seq_pos_max(memory_, sequence) + 1);
}

bool LlamaContext::trim(std::int32_t sequence, std::uint32_t keep) {
  if (memory_ == nullptr || length(sequence) <= keep) return true;
  const bool trimmed =
      keep > 0 && can_cut(sequence, keep) && llama_memory_seq_rm(memory_, sequence, position(sequence, keep), -1);
  if (!trimmed) clear(sequence);
  if (multiple_) positions_of(sequence).cut(keep);
  recount(sequence);
  return trimmed;
}

// libllama keeps all tokens from the oldest one of a sequence on.
bool LlamaContext::can_cut(std::int32_t sequence, std::uint32_t keep) const {
  if (!rules_.divisible) return false;
  if (multiple_ && positions_of(sequence).ends_inside(keep)) return false;
  if (model_->facts().window == 0 || memory_ == nullptr) return true;
  const auto next = static_cast<std::uint32_t>(position(sequence, keep));
  return llama_memory_seq_pos_min(memory_, sequence) <=
         static_cast<llama_pos>(oldest_seen(next, model_->memory_facts()));
}

// Copies the cells of layers with a window, so that the sequence shares none of them. Shared ones would stay used long
// after all windows have passed them, and there are no spare cells.
bool LlamaContext::own_window(std::int32_t sequence) {
  constexpr llama_state_seq_flags kWindows = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;
  std::vector<std::uint8_t> bytes;
  try {
    bytes.resize(llama_state_seq_get_size_ext(handle_.get(), sequence, kWindows));
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (llama_state_seq_get_data_ext(handle_.get(), bytes.data(), bytes.size(), sequence, kWindows) != bytes.size())
    return false;
  const LogCapture log;
  return llama_state_seq_set_data_ext(handle_.get(), bytes.data(), bytes.size(), sequence, kWindows) == bytes.size();
}

void LlamaContext::clear(std::int32_t sequence) {
  if (memory_ == nullptr) return;
  llama_memory_seq_rm(memory_, sequence, -1, -1);
  if (multiple_) positions_of(sequence).cut(0);
  recount(sequence);
}

bool LlamaContext::shift(std::int32_t sequence, std::uint32_t keep, std::uint32_t discard) {
  const auto begin = static_cast<llama_pos>(keep), end = static_cast<llama_pos>(keep + discard);
  const auto length_before = static_cast<llama_pos>(length(sequence));
  if (!can_shift() || end > length_before || !llama_memory_seq_rm(memory_, sequence, begin, end)) return false;
  llama_memory_seq_add(memory_, sequence, end, length_before, -static_cast<llama_pos>(discard));
  recount(sequence);
  return true;
}

bool LlamaContext::share(std::int32_t from, std::int32_t to, std::uint32_t shared) {
  if (memory_ == nullptr) return true;
  if (shape_.unified()) {
    llama_memory_seq_cp(memory_, from, to, 0, position(from, shared));
    if (multiple_) {
      positions_of(to) = positions_of(from);
      positions_of(to).cut(shared);
    }
    cells_.share(from, to, shared);
    if (!narrow_ || own_window(to)) return true;
    clear(to);
    return false;
  }
  const std::vector<std::uint8_t> copy = save(from);
  return !copy.empty() && restore(to, copy) && trim(to, shared);
}

std::vector<std::uint8_t> LlamaContext::save(std::int32_t sequence) {
  std::vector<std::uint8_t> bytes = save_cells(sequence);
  if (!multiple_ || bytes.empty()) return bytes;
  try {
    positions_of(sequence).append_to(bytes);
  } catch (const std::bad_alloc&) {
    bytes.clear();
  }
  return bytes;
}

// Saved bytes have the format of a unified cache, which has one stream.
std::vector<std::uint8_t> LlamaContext::save_cells(std::int32_t sequence) {
  if (memory_ == nullptr) return {};
  std::int32_t from = sequence;
  if (spare_ids_) {
    from = kSpareId;
    llama_memory_seq_cp(memory_, sequence, from, -1, -1);
  }
  std::vector<std::uint8_t> bytes;
  try {
    bytes.resize(llama_state_seq_get_size(handle_.get(), from));
    bytes.resize(llama_state_seq_get_data(handle_.get(), bytes.data(), bytes.size(), from));
  } catch (const std::bad_alloc&) {
    bytes.clear();  // then the session computes the tokens again
  }
  if (spare_ids_) clear(from);
  if (shape_.unified() || bytes.empty()) return bytes;

  const std::size_t before = kCountBytes * static_cast<std::size_t>(sequence);
  const std::size_t behind = kCountBytes * (shape_.streams - 1) - before;
  if (bytes.size() < kHeadBytes + kCountBytes + before + behind) return {};
  bytes.resize(bytes.size() - behind);
  const auto parts = bytes.begin() + kHeadBytes + kCountBytes;
  bytes.erase(parts, parts + static_cast<std::ptrdiff_t>(before));
  std::memcpy(bytes.data() + kHeadBytes, &kOneStream, kCountBytes);
  return bytes;
}

bool LlamaContext::restore(std::int32_t sequence, std::span<const std::uint8_t> bytes) {
  if (!multiple_) return restore_cells(sequence, bytes);
  auto positions = SequencePositions::take_from(bytes);
  if (!positions || !restore_cells(sequence, bytes)) return false;
  positions_of(sequence) = std::move(*positions);
  recount(sequence);
  return true;
}

bool LlamaContext::restore_cells(std::int32_t sequence, std::span<const std::uint8_t> bytes) {
  if (memory_ == nullptr || bytes.size() <= kHeadBytes + kCountBytes) return false;
  const LogCapture log;  // a full cache is a normal result here and is not logged
  std::vector<std::uint8_t> framed;
  if (!shape_.unified()) {
    framed.reserve(bytes.size() + kCountBytes * shape_.streams);
    framed.assign(bytes.begin(), bytes.end());
    std::memcpy(framed.data() + kHeadBytes, &shape_.streams, kCountBytes);
    framed.resize(framed.size() + kCountBytes * (shape_.streams - 1), 0);
    bytes = framed;
  }
  const std::size_t taken = llama_state_seq_set_data(handle_.get(), bytes.data(), bytes.size(), sequence);
  recount(sequence);
  if (taken == bytes.size()) return true;
  clear(sequence);
  return false;
}

void LlamaContext::clear_all() {
  if (memory_ != nullptr) llama_memory_clear(memory_, false);
  cells_ = {};
  for (SequencePositions& positions : positions_) positions.cut(0);
}

}  // namespace corral::engine
