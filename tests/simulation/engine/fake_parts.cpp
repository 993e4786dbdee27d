#include "simulation/engine/fake_parts.h"

#include <exception>
#include <stdexcept>
#include <utility>

#include "engine/test_failing_allocations.h"
#include "simulation/engine/fake_memory.h"

namespace corral::engine::simulation {

void FakeDrafter::draft(SessionId, std::span<const Token> history, const DraftBudget& budget,
                        std::vector<DraftToken>& to) {
  const test::Watched spared(false);
  std::uint64_t hash = kEmptyHash;
  for (const Token token : history) hash = next_hash(hash, token);
  for (std::uint32_t i = random_() % (budget.max + 1); i > 0; --i) {
    const Token right = answer_to(hash, kVocabulary);
    const Token token = random_() % 4 == 0 ? static_cast<Token>(random_() % kVocabulary) : right;
    to.push_back({token, 0.5 + 0.125 * static_cast<double>(random_() % 4)});
    hash = next_hash(hash, token);
  }
}

bool FakeChores::run(BackgroundTask task) noexcept {
  const test::Watched spared(false);
  if (random_() % 8 == 0) return false;
  tasks_.push_back(std::move(task));
  return true;
}

void FakeChores::round() {
  if (fate_->disk_stalls > 0) {
    --fate_->disk_stalls;
    return;
  }
  for (auto max = random_() % 8; max > 0 && !tasks_.empty(); --max) {
    BackgroundTask task = std::move(tasks_.front());
    tasks_.pop_front();
    try {
      const test::Watched watched(true);
      task();
    } catch (const std::exception&) {  // as BackgroundThread does
    }
  }
}

void FakeLane::start(PrefillJob job) {
  if (job_) twice_ = true;
  if (fate_->throw_thread) {
    fate_->throw_thread = false;
    throw std::runtime_error("no thread for the lane");
  }
  job_ = std::move(job);
  rounds_ = random_() % 8;
  stop_ = false;
}

void FakeLane::round() {
  if (!job_ || rounds_-- > 0) return;
  PrefillResult result;
  try {
    result = run_prefill(std::move(*job_), make_, {.stop = stop_, .n_threads = n_threads_});
  } catch (const std::exception&) {  // as a lane with a thread does
  }
  job_.reset();
  box_->post(std::move(result));
}

}  // namespace corral::engine::simulation
