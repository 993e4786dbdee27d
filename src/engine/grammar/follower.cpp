#include "engine/grammar/follower.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "engine/values/errors.h"

namespace corral::engine {

SharedGrammar::SharedGrammar(std::shared_ptr<const Grammar> grammar, GrammarTriggers triggers,
                             const GrammarOptions& options, const GrammarVocabulary& vocabulary)
    : grammar_(std::move(grammar)),
      triggers_(std::move(triggers)),
      lazy_(options.lazy),
      prefill_(options.prefill),
      vocabulary_(vocabulary) {}

Result<std::shared_ptr<const SharedGrammar>> SharedGrammar::make(const GrammarOptions& options,
                                                                 const GrammarVocabulary& vocabulary,
                                                                 const FindToken& find_token) {
  auto triggers = GrammarTriggers::make(options.lazy ? options : GrammarOptions());
  if (!triggers) return std::unexpected(std::move(triggers.error()));
  auto parsed = parse_gbnf(options.gbnf, find_token);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  auto grammar = std::make_shared<const Grammar>(std::move(*parsed));
  std::shared_ptr<const SharedGrammar> shared(
      new SharedGrammar(std::move(grammar), std::move(*triggers), options, vocabulary));
  try {
    const GrammarFollower first(shared);
  } catch (const std::exception& thrown) {
    return fail(errc::invalid_argument, fmt::format("'grammar' can't be used: {}", excerpt(thrown.what())), "grammar");
  }
  return shared;
}

GrammarFollower::GrammarFollower(std::shared_ptr<const SharedGrammar> shared)
    : shared_(std::move(shared)), matcher_(shared_->grammar_, shared_->vocabulary_), waiting_(shared_->lazy_) {
  if (waiting_) return;
  for (const Token token : shared_->prefill_) {
    if (token >= 0 && static_cast<std::uint32_t>(token) < shared_->vocabulary_.size()) matcher_.accept(token);
  }
}

void GrammarFollower::accept(Token token) {
  if (!waiting_) return matcher_.accept(token);
  if (shared_->triggers_.is_token(token)) {
    waiting_ = false;
    return matcher_.accept(token);
  }
  const auto text = shared_->vocabulary_.piece(token);
  // Drops text that is too far back for any trigger, in large pieces.
  if (answer_.size() > 64 * kTriggerWindow) {
    const auto kept = std::ranges::find_if(
        pieces_, [&](const Piece& piece) { return piece.begin + 32 * kTriggerWindow >= answer_.size(); });
    const auto gone = kept == pieces_.end() ? answer_.size() : kept->begin;
    answer_.erase(0, gone);
    pieces_.erase(pieces_.begin(), kept);
    for (auto& piece : pieces_) piece.begin -= gone;
  }
  pieces_.push_back({token, answer_.size()});
  answer_ += text;
  const auto found = shared_->triggers_.find(answer_, text.size());
  if (!found) return;
  waiting_ = false;
  for (const auto& [one, begin] : std::exchange(pieces_, {})) {
    const auto piece = shared_->vocabulary_.piece(one);
    if (begin + piece.size() <= *found) continue;
    matcher_.accept(one, piece.substr(*found > begin ? *found - begin : 0));
  }
  answer_ = {};
}

}  // namespace corral::engine
