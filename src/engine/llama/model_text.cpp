// Text to tokens and back.
#include <array>
#include <exception>
#include <limits>

#include <fmt/core.h>

#include "base/large_stack.h"
#include "engine/llama/model.h"
#include "engine/values/errors.h"

namespace corral::engine {

Result<std::vector<Token>> Model::tokenize(std::string_view text, bool add_special, bool parse_special) const {
  constexpr std::size_t kMax = std::numeric_limits<std::int32_t>::max() / 2;
  if (text.size() > kMax) {
    return fail(errc::tokenize_failed,
                fmt::format("a text of {} bytes is too long to tokenize (limit {})", text.size(), kMax));
  }
  const auto stack = pretokenizer_.stack_for(text);
  if (!stack) return std::unexpected(stack.error());
  if (*stack <= kOrdinaryStack) return tokenize_here(text, add_special, parse_special);
  Result<std::vector<Token>> tokens;
  if (run_with_stack(*stack, [&] { tokens = tokenize_here(text, add_special, parse_special); })) return tokens;
  return fail(errc::out_of_memory,
              fmt::format("no address space is left for {} MiB of stack, which a text of {} bytes may need: try again, "
                          "or raise the process's limit (ulimit -v)",
                          *stack >> 20, text.size()));
}

Result<std::vector<Token>> Model::tokenize_here(std::string_view text, bool add_special, bool parse_special) const {
  // Mostly a token stands for at least one byte, save for BOS, EOS and a space put in front.
  std::vector<Token> tokens(text.size() + 4);
  std::string why;
  try {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const std::int32_t count =
          llama_tokenize(vocab_, text.data(), static_cast<std::int32_t>(text.size()), tokens.data(),
                         static_cast<std::int32_t>(tokens.size()), add_special, parse_special);
      if (count >= 0) {
        tokens.resize(static_cast<std::size_t>(count));
        return tokens;
      }
      if (count == std::numeric_limits<std::int32_t>::min()) break;
      tokens.resize(static_cast<std::size_t>(-count));
    }
  } catch (const std::exception& thrown) {  // a byte that this vocabulary has no token for
    why = fmt::format(" ({})", thrown.what());
  }
  return fail(errc::tokenize_failed,
              fmt::format("a text of {} bytes has no token list in this vocabulary{}", text.size(), why));
}

void Model::append_piece(Token token, bool render_special, std::string& to) const {
  if (!valid(token)) return;
  std::array<char, 64> small;
  const std::int32_t length = llama_token_to_piece(vocab_, token, small.data(), small.size(), 0, render_special);
  if (length >= 0) {
    to.append(small.data(), static_cast<std::size_t>(length));
    return;
  }
  const std::size_t at = to.size();  // a negative result is the needed size
  to.resize(at + static_cast<std::size_t>(-length));
  const std::int32_t written = llama_token_to_piece(vocab_, token, to.data() + at, -length, 0, render_special);
  to.resize(at + static_cast<std::size_t>(std::max(written, 0)));
}

const GrammarVocabulary& Model::grammar_vocabulary() const {
  std::call_once(grammar_vocabulary_made_, [this] {
    grammar_vocabulary_ = std::make_unique<const GrammarVocabulary>(
        facts_.n_vocab, [this](Token token, std::string& to) { append_piece(token, true, to); },
        [this](Token token) { return ends_generation(token); });
  });
  return *grammar_vocabulary_;
}

}  // namespace corral::engine
