#include "simulation/engine/fake_parts.h"

#include <utility>

#include "simulation/engine/fake_memory.h"

namespace corral::engine::simulation {

void FakeDrafter::draft(SessionId, std::span<const Token> history, const GuessBudget& budget, std::vector<Guess>& to) {
  std::uint64_t hash = kEmptyHash;
  for (const Token token : history) hash = next_hash(hash, token);
  for (std::uint32_t i = random_() % (budget.most + 1); i > 0; --i) {
    const Token right = answer_to(hash, kVocabulary);
    const Token token = random_() % 4 == 0 ? static_cast<Token>(random_() % kVocabulary) : right;
    to.push_back({token, 0.5 + 0.125 * static_cast<double>(random_() % 4)});
    hash = next_hash(hash, token);
  }
}

void FakeLane::start(PrefillJob job) {
  if (job_) twice_ = true;
  job_ = std::move(job);
  rounds_ = random_() % 8;
  stop_ = false;
}

void FakeLane::round() {
  if (!job_ || rounds_-- > 0) return;
  PrefillResult result = run_prefill(std::move(*job_), make_, {.stop = stop_, .n_threads = n_threads_});
  job_.reset();
  box_->post(std::move(result));
}

}  // namespace corral::engine::simulation
