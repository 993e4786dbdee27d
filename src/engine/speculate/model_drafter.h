// Guesses of a second, smaller model with the same vocabulary. One thread.
//
// It follows a few sessions, each in a KV sequence of its own, the least recently asked one making way. What it has
// computed of a history it keeps: only what is new, or differs, is computed. A long history is taken in over several
// calls, a batch at a time and without guesses, so that no call takes much longer than a pass of the draft model.
#pragma once

#include <list>
#include <memory>

#include "engine/kv/batch.h"
#include "engine/kv/kv_memory.h"
#include "engine/kv/token_table.h"
#include "engine/llama/model.h"
#include "engine/schedule/drafter.h"
#include "engine/schedule/guess_length.h"

namespace corral::engine {

struct ModelDrafterOptions {
  std::uint32_t sessions = 4;   // most that are followed at a time
  float least_probability = 0;  // a guess it gives itself less is none, nor is what would follow
  double pass_cost = 0;         // of the draft model, in passes of the other
};

class ModelDrafter final : public Drafter {
 public:
  // `tokens` is the draft model's vocabulary, of which the guesses must be below `n_vocab`; outlives the drafter.
  // `make` is called again after a downsize; `memory` is what it made. The memory is divisible.
  ModelDrafter(const TokenTable& tokens, std::uint32_t n_vocab, std::unique_ptr<KvMemory> memory, KvMaker make,
               ModelDrafterOptions options);

  void draft(SessionId session, std::span<const Token> history, const DraftBudget& budget,
             std::vector<DraftToken>& to) override;
  void forget(SessionId session) override;
  void downsize() override;

 private:
  struct Followed {
    SessionId session;
    std::int32_t sequence;
    std::vector<Token> tokens;  // in its cells
    std::vector<Token> drafts;  // the latest
    std::size_t size = 0;       // of the history then
    Rate rate;                  // of right guesses
    double credit = 0;          // time for a guess that may not pay, in passes
    std::uint32_t unsure = 0;   // calls in a row that it had no guess for
    std::uint32_t rests = 0;    // calls that it isn't asked in
  };
  using FollowedList = std::list<Followed>;

  Followed& follow(SessionId session);
  FollowedList::iterator find(SessionId session);
  bool ensure_memory();
  static void judge(Followed& followed, std::span<const Token> history);
  std::uint32_t wanted(Followed& followed, const DraftBudget& budget) const;
  bool catch_up(Followed& followed, std::span<const Token> history);
  bool compute(Followed& followed, std::span<const Token> tokens, bool output);
  bool make_room(const Followed& except);
  // Its probability is the draft model's own.
  DraftToken guess(std::int32_t row) const;

  const TokenTable& tokens_;
  const std::uint32_t n_vocab_;
  const KvMaker make_;
  const ModelDrafterOptions options_;
  std::unique_ptr<KvMemory> memory_;  // none after a downsize
  Batch batch_;
  FollowedList followed_;  // most recently asked first
  std::vector<std::int32_t> free_ids_;
};

// The name of the option in errors.
inline constexpr const char* kDraftOption = "draft_model";

// Whether it can guess for the other; both may be loaded empty. Errors: invalid_argument where the vocabularies differ,
// unsupported; all name "draft_model".
Result<> check_draft(const Model& draft, const Model& target);
// Loads `options.speculative.draft_path` for guessing what `target` says.
// Errors: as InferenceEngine::load and check_draft().
Result<std::shared_ptr<Model>> load_draft_model(const EngineLoadOptions& options, const Model& target);

// Most running sessions beside which a draft model guesses: it takes them one after another.
inline std::uint32_t active_beside_draft_model(const SpeculativeOptions& options) {
  return options.max_active.value_or(2);
}

// The options of the draft model's context beside one of `n_ctx` cells.
EngineLoadOptions draft_options(const EngineLoadOptions& options, std::uint32_t n_ctx);

}  // namespace corral::engine
