#include "engine/grammar/trigger.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

constexpr std::size_t kMaxGroups = 16;

std::unexpected<Error> refuse(std::string_view pattern, std::string_view reason) {
  return fail(
      errc::invalid_argument,
      fmt::format("'grammar_triggers' has the pattern '{}', which can't be used: {}", pattern.substr(0, 60), reason),
      "grammar_triggers");
}

// RE2 has no look-ahead. "X(?!word)" at the end of a pattern means X, as long as what follows isn't the word.
std::string without_look_ahead(const std::string& pattern) {
  const auto begin = pattern.find("(?!");
  if (begin == std::string::npos || pattern.back() != ')') return pattern;
  const auto word = pattern.substr(begin + 3, pattern.size() - begin - 4);
  if (word.empty() || !std::ranges::all_of(word, [](unsigned char c) { return std::isalnum(c); })) return pattern;
  auto rewritten = pattern.substr(0, begin) + "(?:$";
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (i > 0) rewritten += "|" + word.substr(0, i) + "$";
    rewritten += "|" + word.substr(0, i) + "[^" + word[i] + "]";
  }
  return rewritten + ")";
}

}  // namespace

GrammarTriggers::GrammarTriggers() = default;
GrammarTriggers::~GrammarTriggers() = default;
GrammarTriggers::GrammarTriggers(GrammarTriggers&&) noexcept = default;

Result<GrammarTriggers> GrammarTriggers::make(const GrammarOptions& options) {
  GrammarTriggers made;
  made.tokens_ = options.trigger_tokens;
  std::ranges::sort(made.tokens_);
  for (const auto& word : options.trigger_words) {
    if (!word.empty()) made.words_.push_back(word);
  }
  re2::RE2::Options how;
  how.set_encoding(re2::RE2::Options::EncodingLatin1);  // bytes: the output may end inside a character
  how.set_log_errors(false);
  how.set_dot_nl(false);
  how.set_max_mem(1 << 20);
  int program = 0;
  for (const auto& pattern : options.trigger_patterns) {
    if (pattern.size() > kMaxTriggerPattern) {
      return refuse(pattern, fmt::format("it has {} bytes, at most {} are allowed: use a word (type 1)", pattern.size(),
                                         kMaxTriggerPattern));
    }
    auto compiled = std::make_unique<re2::RE2>(without_look_ahead(pattern), how);
    if (!compiled->ok()) return refuse(pattern, compiled->error());
    if (compiled->NumberOfCapturingGroups() >= static_cast<int>(kMaxGroups))
      return refuse(pattern, fmt::format("it has more than {} groups: use (?:…)", kMaxGroups - 1));
    program += compiled->ProgramSize();
    if (program > kMaxTriggerProgram) {
      return refuse(pattern, fmt::format("compiled, the patterns have more than {} instructions: repeat less, or use "
                                         "words (type 1)",
                                         kMaxTriggerProgram));
    }
    made.patterns_.push_back({std::move(compiled), pattern.starts_with('^') || pattern.starts_with("\\A")});
  }
  return made;
}

bool GrammarTriggers::is_token(Token token) const { return std::ranges::binary_search(tokens_, token); }

std::optional<std::size_t> GrammarTriggers::find(std::string_view answer, std::size_t added) const {
  for (const auto& word : words_) {
    const auto fresh = std::min(answer.size(), added + word.size() - 1);
    if (const auto at = answer.find(word, answer.size() - fresh); at != std::string_view::npos) return at;
  }
  const auto begin = answer.size() > kTriggerWindow ? answer.size() - kTriggerWindow : 0;
  const re2::StringPiece seen(answer.data() + begin, answer.size() - begin);
  for (const auto& pattern : patterns_) {
    if (pattern.from_start && begin > 0) continue;
    std::array<re2::StringPiece, kMaxGroups> groups;
    const int wanted = pattern.compiled->NumberOfCapturingGroups() + 1;
    if (!pattern.compiled->Match(seen, 0, seen.size(), re2::RE2::UNANCHORED, groups.data(), wanted)) continue;
    const auto* at = groups.front().data();
    for (int i = 1; i < wanted; ++i) {
      const auto& group = groups[static_cast<std::size_t>(i)];
      if (group.empty()) continue;
      at = group.data();
      break;
    }
    return static_cast<std::size_t>(at - answer.data());
  }
  return std::nullopt;
}

}  // namespace corral::engine
