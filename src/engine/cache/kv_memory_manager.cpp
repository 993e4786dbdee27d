#include "engine/cache/kv_memory_manager.h"

#include <algorithm>
#include <utility>

namespace corral::engine {

KvMemoryManager::KvMemoryManager(Parts parts, const WorkerOptions& options, Sequences& sequences)
    : options_(options),
      make_(std::move(parts.make)),
      growth_(std::move(parts.growth)),
      explain_(std::move(parts.explain)),
      executor_(std::move(parts.executor)),
      wake_(std::move(parts.wake)),
      clock_(std::move(parts.clock)),
      sequences_(sequences),
      memory_(std::move(parts.memory)),
      shape_(memory_->shape()),
      first_cells_(memory_->n_ctx()),
      cells_(first_cells_),
      threads_(options.threads) {
  sequences_.bind(memory_.get());
}

void KvMemoryManager::set_threads(SetThreads threads) {
  if (threads == threads_) return;
  threads_ = threads;
  if (memory_) memory_->set_threads(threads.n_threads, threads.n_threads_batch);
}

Result<KvMemoryManager::Ensured> KvMemoryManager::ensure() {
  if (memory_) return Ensured::there;
  if (refusal_) return Ensured::explaining;
  auto made = make_(shape_);
  if (!made && !shape_.unified()) {
    no_split_ = true;
    made = make_(shape_ = pool());
  }
  // Growth succeeded earlier, but the memory no longer suffices.
  if (!made && shape_.cells != 0) made = make_(shape_ = {});
  if (!made) return refuse(std::move(made.error()));
  memory_ = std::move(*made);
  memory_->set_threads(threads_.n_threads, threads_.n_threads_batch);
  sequences_.bind(memory_.get());
  // A part of a split layout does not show the size of a unified one.
  cells_ = shape_.cells == 0 ? first_cells_ : shape_.cells;
  const std::uint64_t kept = std::uint64_t{options_.prefix_cache_tokens} * cells_ / first_cells_;
  sequences_.limit_prefixes(
      static_cast<std::uint32_t>(std::min<std::uint64_t>(kept, options_.max_prefix_cache_tokens)));
  return Ensured::made;
}

Result<KvMemoryManager::Ensured> KvMemoryManager::refuse(Error error) {
  if (!explain_ || !executor_) return std::unexpected(std::move(error));
  const auto refusal = std::make_shared<Refusal>(std::move(error), clock_() + options_.max_cause_wait);
  const auto find_out = [refusal, shape = shape_, explain = explain_, wake = wake_] {
    try {
      refusal->error = explain(refusal->error, shape);
    } catch (...) {  // then the plain error is reported
    }
    refusal->explained = true;
    wake();
  };
  if (!executor_->run(find_out)) return std::unexpected(refusal->plain);
  refusal_ = refusal;
  return Ensured::explaining;
}

std::optional<Error> KvMemoryManager::take_refusal() {
  if (!refusal_ || (!refusal_->explained && clock_() < refusal_->until)) return std::nullopt;
  const auto refusal = std::exchange(refusal_, nullptr);
  return refusal->explained ? refusal->error : refusal->plain;
}

std::optional<MonoTime> KvMemoryManager::explained_until() const {
  return refusal_ ? std::optional(refusal_->until) : std::nullopt;
}

bool KvMemoryManager::in_vain(const std::optional<NoGrowth>& known, std::uint32_t cells) const {
  return known && cells >= known->from && clock_() < known->until;
}

std::optional<std::uint32_t> KvMemoryManager::growth(std::uint32_t needed) {
  constexpr Millis kLookAgain{1'000};
  if (!memory_ || !shape_.unified() || options_.max_cells <= cells_ || options_.layout == KvLayout::split)
    return std::nullopt;
  if (in_vain(no_room_, needed)) return std::nullopt;
  const std::uint32_t cells = growth_(*memory_, needed);
  if (cells > cells_ && !in_vain(no_growth_, cells)) return cells;
  no_room_ = {.from = needed, .until = clock_() + kLookAgain};
  return std::nullopt;
}

void KvMemoryManager::growth_failed(std::uint32_t cells) {
  constexpr Millis kTryAgain{10'000};
  no_growth_ = {.from = cells, .until = clock_() + kTryAgain};
}

void KvMemoryManager::drop(KvShape next) {
  sequences_.bind(nullptr);
  memory_.reset();
  shape_ = next;
}

void KvMemoryManager::downsize() {
  drop({});
  cells_ = first_cells_;
  no_split_ = false;
  no_room_.reset();
  no_growth_.reset();
}

void KvMemoryManager::start_over() noexcept {
  sequences_.forget_all();
  memory_.reset();
  shape_ = {};
  cells_ = first_cells_;
}

}  // namespace corral::engine
