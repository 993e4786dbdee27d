// What makes a lazy grammar count: a token, a word in the answer, or a pattern. Words and patterns are looked for in
// linear time and bounded memory (RE2), for they come from clients and are tried at every token.
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

// How much of the end of an answer patterns see. One that begins with ^ counts only while the answer is no longer.
inline constexpr std::size_t kTriggerWindow = 2048;
inline constexpr std::size_t kMaxTriggerPattern = 512;  // bytes
// Instructions that all patterns of one grammar are compiled to, together: each may be looked at for every byte seen.
inline constexpr int kMaxTriggerProgram = 1024;

// Immutable; shared by all answers that wait for the same.
class GrammarTriggers {
 public:
  // Errors: invalid_argument, naming the pattern.
  static Result<GrammarTriggers> make(const GrammarOptions& options);
  ~GrammarTriggers();
  GrammarTriggers(GrammarTriggers&&) noexcept;

  bool is_token(Token token) const;
  // Where in `answer` the grammar begins to count, if it does with the last `added` bytes: the word, the pattern's
  // first group that has anything, or the pattern.
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
