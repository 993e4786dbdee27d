#include "engine/speculate/model_drafter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/sample/sampler.h"

namespace corral::engine {
namespace {

// Users choose draft models that are mostly right.
constexpr double kFirstRate = 0.8;
constexpr double kWeight = 0.1;  // of one draft token
// Part of the time for trial drafts that may not pay, to see whether drafts pay again.
constexpr double kTries = 0.02;
// Drafts in a row without a token, after which the drafter skips so many calls.
constexpr std::uint32_t kMaxUnsure = 8, kRest = 32;

}  // namespace

ModelDrafter::ModelDrafter(const TokenTable& tokens, std::uint32_t n_vocab, std::unique_ptr<KvMemory> memory,
                           KvMaker make, ModelDrafterOptions options)
    : tokens_(tokens),
      n_vocab_(std::min(n_vocab, tokens.size())),
      make_(std::move(make)),
      options_(options),
      memory_(std::move(memory)),
      batch_(memory_->n_batch()) {
  const std::uint32_t max = std::clamp(options_.sessions, 1u, memory_->sequence_ids());
  for (std::uint32_t i = 0; i < max; ++i) free_ids_.push_back(memory_->first_sequence() + static_cast<std::int32_t>(i));
}

void ModelDrafter::draft(SessionId session, std::span<const Token> history, const DraftBudget& budget,
                         std::vector<DraftToken>& to) {
  if (!ensure_memory() || history.size() + budget.max > memory_->n_ctx()) return;
  Followed& followed = follow(session);
  judge(followed, history);
  const std::uint32_t max = wanted(followed, budget);
  if (max == 0 || !catch_up(followed, history)) return;
  followed.size = history.size();
  while (true) {
    const DraftToken next = draft_token(static_cast<std::int32_t>(batch_.size()) - 1);
    if (next.token == kNoToken || next.probability < options_.least_probability) break;
    followed.drafts.push_back(next.token);
    if (followed.drafts.size() == max || tokens_.ends_generation(next.token)) break;
    if (!compute(followed, std::span(&next.token, 1), true)) break;
  }
  for (const Token token : followed.drafts) to.push_back({token, followed.rate.value()});
  followed.unsure = followed.drafts.empty() ? followed.unsure + 1 : 0;
  if (followed.unsure < kMaxUnsure) return;
  followed.unsure = 0;
  followed.rests = kRest;
}

// Compares the latest draft with the tokens that followed.
void ModelDrafter::judge(Followed& followed, std::span<const Token> history) {
  for (std::size_t i = 0; i < followed.drafts.size() && followed.size + i < history.size(); ++i) {
    const bool right = history[followed.size + i] == followed.drafts[i];
    followed.rate.learn(right);
    if (!right) break;
  }
  followed.drafts.clear();
}

std::uint32_t ModelDrafter::wanted(Followed& followed, const DraftBudget& budget) const {
  if (followed.rests > 0) {
    --followed.rests;
    return 0;
  }
  const std::uint32_t max =
      draft_length(budget, options_.pass_cost, [&](std::uint32_t) { return followed.rate.value(); });
  if (max > 0 || budget.max == 0) return max;
  followed.credit += kTries;
  const double costs = budget.costs.of(budget.rows + 1) / budget.costs.of(budget.rows) - 1 + options_.pass_cost;
  if (followed.credit < costs) return 0;
  followed.credit = 0;
  return 1;
}

// Computes the missing part of the history, with the logits of its last token. False: not complete yet, or not
// possible.
bool ModelDrafter::catch_up(Followed& followed, std::span<const Token> history) {
  const auto differs = std::ranges::mismatch(followed.tokens, history).in1;
  // The last token is computed in any case, for its logits.
  const std::size_t keep =
      std::min<std::size_t>(static_cast<std::size_t>(differs - followed.tokens.begin()), history.size() - 1);
  if (keep < followed.tokens.size()) {
    const bool kept = memory_->trim(followed.sequence, static_cast<std::uint32_t>(keep));
    followed.tokens.resize(kept ? keep : 0);
  }
  const auto wanted = history.subspan(followed.tokens.size());
  const auto now = wanted.first(std::min<std::size_t>(wanted.size(), batch_.capacity()));
  const bool whole = now.size() == wanted.size();
  return compute(followed, now, whole) && whole;
}

// Appends tokens to a sequence. After a failure the sequence is unchanged or empty.
bool ModelDrafter::compute(Followed& followed, std::span<const Token> tokens, bool output) {
  if (std::ranges::any_of(tokens, [this](Token token) { return static_cast<std::uint32_t>(token) >= tokens_.size(); }))
    return false;
  batch_.clear();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    batch_.add(tokens[i], static_cast<std::uint32_t>(followed.tokens.size() + i), followed.sequence,
               output && i + 1 == tokens.size());
  }
  DecodeStatus status = memory_->decode(batch_);
  while (status == DecodeStatus::no_room && make_room(followed)) status = memory_->decode(batch_);
  if (status == DecodeStatus::ok) {
    followed.tokens.insert(followed.tokens.end(), tokens.begin(), tokens.end());
    return true;
  }
  if (status != DecodeStatus::no_room) {
    memory_->clear(followed.sequence);
    followed.tokens.clear();
  }
  return false;
}

// Frees the cells of the least recently used session.
bool ModelDrafter::make_room(const Followed& except) {
  for (auto it = followed_.rbegin(); it != followed_.rend(); ++it) {
    if (&*it == &except || it->tokens.empty()) continue;
    memory_->clear(it->sequence);
    it->tokens.clear();
    return true;
  }
  return false;
}

DraftToken ModelDrafter::draft_token(std::int32_t row) const {
  const float* const logits = memory_->logits(row);
  if (logits == nullptr) return {};
  const std::uint32_t best = argmax(logits, n_vocab_);
  if (!std::isfinite(logits[best])) return {};
  if (options_.least_probability <= 0) return {.token = static_cast<Token>(best), .probability = 1};
  float sum = 0;
  for (std::uint32_t token = 0; token < n_vocab_; ++token) sum += std::exp(logits[token] - logits[best]);
  return {.token = static_cast<Token>(best), .probability = 1 / sum};
}

void ModelDrafter::forget(SessionId session) {
  const auto found = find(session);
  if (found == followed_.end()) return;
  if (memory_) memory_->clear(found->sequence);
  free_ids_.push_back(found->sequence);
  followed_.erase(found);
}

void ModelDrafter::downsize() {
  for (Followed& followed : followed_) followed.tokens = {};
  memory_.reset();
}

ModelDrafter::FollowedList::iterator ModelDrafter::find(SessionId session) {
  return std::ranges::find(followed_, session, &Followed::session);
}

ModelDrafter::Followed& ModelDrafter::follow(SessionId session) {
  if (const auto found = find(session); found != followed_.end()) {
    followed_.splice(followed_.begin(), followed_, found);
    return followed_.front();
  }
  if (free_ids_.empty()) forget(followed_.back().session);
  followed_.push_front({.session = session,
                        .sequence = free_ids_.back(),
                        .tokens = {},
                        .drafts = {},
                        .rate = Rate(kFirstRate, kWeight)});
  free_ids_.pop_back();
  return followed_.front();
}

bool ModelDrafter::ensure_memory() {
  if (memory_) return true;
  auto made = make_({});
  if (made) memory_ = std::move(*made);
  return memory_ != nullptr;
}

}  // namespace corral::engine
