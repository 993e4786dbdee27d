// Drafter with a second, smaller model that has the same vocabulary. One thread.
//
// It follows a few sessions, each with a KV sequence of its own; the least recently used one is replaced. It keeps its
// cells of a history and computes only new or different tokens. It computes a long history over several calls, one
// batch each and without draft tokens, so that no call takes much longer than a pass of the draft model.
#pragma once

#include <list>
#include <memory>

#include "engine/kv/batch.h"
#include "engine/kv/kv_memory.h"
#include "engine/kv/token_table.h"
#include "engine/llama/model.h"
#include "engine/schedule/draft_length.h"
#include "engine/schedule/drafter.h"

namespace corral::engine {

struct ModelDrafterOptions {
  std::uint32_t sessions = 4;   // most sessions that are followed at a time
  float least_probability = 0;  // a draft token with a lower probability ends the draft
  double pass_cost = 0;         // of one draft pass, in passes of the target model
};

class ModelDrafter final : public Drafter {
 public:
  // `tokens` is the draft model's vocabulary; draft tokens are below `n_vocab`. It must outlive the drafter. `memory`
  // was made by `make`, which is called again after a downsize. The memory must be divisible.
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
    std::vector<Token> drafts;  // latest draft
    std::size_t size = 0;       // size of the history at that draft
    Rate rate;                  // share of accepted draft tokens
    double credit = 0;          // saved time for a trial draft, in passes
    std::uint32_t unsure = 0;   // calls in a row without a draft token
    std::uint32_t rests = 0;    // further calls to skip
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
  // Most likely token, with the draft model's probability.
  DraftToken draft_token(std::int32_t row) const;

  const TokenTable& tokens_;
  const std::uint32_t n_vocab_;
  const KvMaker make_;
  const ModelDrafterOptions options_;
  std::unique_ptr<KvMemory> memory_;  // none after a downsize
  Batch batch_;
  FollowedList followed_;  // most recently used first
  std::vector<std::int32_t> free_ids_;
};

// The name of the option in errors.
inline constexpr const char* kDraftOption = "draft_model";

// Whether `draft` can draft for `target`; both may be loaded empty. Errors: invalid_argument if the vocabularies
// differ, unsupported; all name "draft_model".
Result<> check_draft(const Model& draft, const Model& target);
// Loads `options.speculative.draft_path` as the draft model of `target`. Errors: those of InferenceEngine::load and
// check_draft().
Result<std::shared_ptr<Model>> load_draft_model(const EngineLoadOptions& options, const Model& target);

// With more running sessions than this the draft model does not draft, since it computes them one after another.
inline std::uint32_t active_beside_draft_model(const SpeculativeOptions& options) {
  return options.max_active.value_or(2);
}

// Options of the draft model's context, for a target context of `n_ctx` cells.
EngineLoadOptions draft_options(const EngineLoadOptions& options, std::uint32_t n_ctx);

}  // namespace corral::engine
