// Loading the second model of a ModelDrafter.
#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "engine/speculate/model_drafter.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

// Vocabularies of one family are padded to different sizes with unused tokens.
constexpr std::uint32_t kMaxPaddingDifference = 128;
// Tokens of a history to compute in one step of the target: running streams wait for them.
constexpr std::uint32_t kPiece = 128;

Result<> check_vocabulary(const Model& draft, const Model& target) {
  const std::uint32_t ours = target.size(), theirs = draft.size();
  if (std::max(ours, theirs) - std::min(ours, theirs) > kMaxPaddingDifference) {
    return fail(errc::invalid_argument,
                fmt::format("'{}' can't draft for '{}': its vocabulary has {} tokens instead of {}", draft.facts().path,
                            target.facts().path, theirs, ours),
                kDraftOption);
  }
  for (Token token = 0; token < static_cast<Token>(std::min(ours, theirs)); ++token) {
    const std::string_view is = llama_vocab_get_text(draft.vocab(), token);
    const std::string_view should = llama_vocab_get_text(target.vocab(), token);
    if (is == should) continue;
    return fail(errc::invalid_argument,
                fmt::format("'{}' can't draft for '{}': in its vocabulary, token {} has another text",
                            draft.facts().path, target.facts().path, token),
                kDraftOption);
  }
  return {};
}

}  // namespace

EngineLoadOptions draft_options(const EngineLoadOptions& options, std::uint32_t n_ctx) {
  EngineLoadOptions draft = options;
  draft.path = options.speculative.draft_path;
  draft.purpose = ModelTask::generate;
  draft.pooling.reset();
  draft.loras.clear();
  draft.mmproj.clear();
  // The host computes the draft model of a split alone: over the network a draft token would cost as much as a token,
  // and the grants of the workers don't include it.
  draft.remotes.clear();
  draft.own_share = 0;
  draft.n_ctx = n_ctx;
  // The running sessions, and two that pause between turns.
  draft.max_sequences =
      std::min({active_beside_draft_model(options.speculative), options.max_sequences, kMaxSequences / 2}) + 2;
  draft.n_batch = std::max(kPiece, draft.max_sequences);
  draft.speculative = {};
  return draft;
}

Result<> check_draft(const Model& draft, const Model& target) {
  if (!draft.memory_rules().drafts) {
    return fail(errc::unsupported,
                fmt::format("'{}' can't draft: its KV memory can't remove rejected tokens", draft.facts().path),
                kDraftOption);
  }
  return check_vocabulary(draft, target);
}

Result<std::shared_ptr<Model>> load_draft_model(const EngineLoadOptions& options, const Model& target) {
  auto draft = Model::load(draft_options(options, options.n_ctx), {});
  if (!draft) {
    Error error = draft.error();
    error.param = kDraftOption;
    return std::unexpected(std::move(error));
  }
  if (auto checked = check_draft(**draft, target); !checked) return std::unexpected(checked.error());
  return draft;
}

}  // namespace corral::engine
