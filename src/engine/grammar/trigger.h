// Triggers of a lazy grammar: a token, a word, or a pattern in the output. Words and patterns come from clients and are
// searched at every token, so the search (RE2) takes linear time and bounded memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/values/options.h"

namespace re2 {
class RE2;
}

namespace corral::engine {

// Bytes at the end of the output that patterns see. A pattern that begins with ^ matches only while the output is no
// longer than this.
inline constexpr std::size_t kTriggerWindow = 2048;
inline constexpr std::size_t kMaxTriggerPattern = 512;  // bytes
// Limit for the compiled instructions of all patterns of one grammar: each may run for every byte.
inline constexpr int kMaxTriggerProgram = 1024;

// Immutable; shared by all generations that wait for the same triggers.
class GrammarTriggers {
 public:
  // Errors: invalid_argument, naming the pattern.
  static Result<GrammarTriggers> make(const GrammarOptions& options);
  ~GrammarTriggers();
  GrammarTriggers(GrammarTriggers&&) noexcept;

  bool is_token(Token token) const;
  // Where in `answer` the grammar begins to apply, if a trigger ends in the last `added` bytes: at the word, at the
  // first non-empty group of the pattern, or at the pattern.
  std::optional<std::size_t> find(std::string_view answer, std::size_t added) const;

 private:
  GrammarTriggers();

  struct Pattern {
    std::unique_ptr<re2::RE2> compiled;
    bool from_start = false;
  };
  std::vector<Token> tokens_;
  std::vector<std::string> words_;
  std::vector<Pattern> patterns_;
};

}  // namespace corral::engine
