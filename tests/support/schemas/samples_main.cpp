// corral-schema-samples COUNT: for each line of standard input, a JSON schema, one line of JSON: what isn't enforced
// and COUNT random texts of its grammar; or what is wrong with it. Every character that the grammar allows is as likely
// to come as any other, but the longer a text is the more it is led to its end.
#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/grammar/gbnf.h"
#include "engine/grammar/matcher.h"
#include "engine/grammar/vocabulary.h"
#include "json/value.h"
#include "json_schema/converter.h"

namespace {

namespace json = corral::json;
using corral::engine::Token;

// All of ASCII, and some characters beyond: of two, three and four bytes, and such that regular expressions know.
const std::vector<std::string>& pieces() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made;
    for (char c = 0; c >= 0 && c < 127; ++c) made.emplace_back(1, c);
    for (const auto* more : {"\x7F", "é", "ß", "中", "\u00A0", "\u2028", "\uFEFF", "😀", "<end>"})
      made.emplace_back(more);
    return made;
  }();
  return all;
}

class Sampler {
 public:
  Sampler(std::shared_ptr<const corral::engine::Grammar> grammar, const corral::engine::GrammarVocabulary& vocabulary,
          std::uint32_t seed)
      : matcher_(std::move(grammar), vocabulary), vocabulary_(vocabulary), random_(seed) {}

  // Empty: it found no end.
  std::string make() {
    std::string text;
    for (std::size_t step = 0; step < kMaxSteps; ++step) {
      const bool hurry = step > kHurryAfter;
      if (matcher_.may_end() && (hurry || below(4) == 0)) return text;
      const auto token = hurry || below(6) == 0 ? ending() : any();
      if (token < 0) return matcher_.may_end() ? text : std::string();
      matcher_.accept(token);
      const auto piece = vocabulary_.piece(token);
      if (piece == "\"" && !escape_) in_string_ = !in_string_;
      escape_ = piece == "\\" && !escape_;
      text += piece;
    }
    return {};
  }

 private:
  static constexpr std::size_t kMaxSteps = 3000, kHurryAfter = 120;

  std::size_t below(std::size_t limit) { return random_() % limit; }

  Token any() {
    std::vector<Token> allowed;
    const auto& flags = matcher_.allowed();
    for (Token token = 0; token + 1 < static_cast<Token>(flags.size()); ++token) {
      if (flags[static_cast<std::size_t>(token)]) allowed.push_back(token);
    }
    return allowed.empty() ? -1 : allowed[below(allowed.size())];
  }
  // A character that ends something, if one is allowed.
  Token ending() {
    if (in_string_ && matcher_.allows('"')) return '"';
    for (const char c : {'}', ']', '"', ':', ',', '{', '[', 'n', 't', '1'}) {
      if (!in_string_ && matcher_.allows(c)) return c;
    }
    if (in_string_) {
      const char c = std::string_view("abcx1")[below(5)];
      if (matcher_.allows(c)) return c;
    }
    return any();
  }

  corral::engine::GrammarMatcher matcher_;
  const corral::engine::GrammarVocabulary& vocabulary_;
  std::mt19937 random_;
  bool in_string_ = false, escape_ = false;
};

json::Object samples(const std::string& line, std::uint32_t count) {
  const auto schema = json::parse(line);
  if (!schema) return {{"error", schema.error().message}};
  corral::json_schema::Workspace workspace("j");
  const auto made = corral::json_schema::make_grammar(*schema, workspace, corral::json_schema::Reading::strict);
  if (!made) return {{"error", made.error().reason}, {"pointer", made.error().pointer}};
  const auto grammar = corral::engine::parse_gbnf("root ::= " + made->root + "\n" + workspace.text.text(), {});
  if (!grammar) return {{"grammar_error", grammar.error().message}};
  const auto shared = std::make_shared<const corral::engine::Grammar>(*grammar);
  static const corral::engine::GrammarVocabulary vocabulary(
      static_cast<std::uint32_t>(pieces().size()),
      [](Token token, std::string& to) { to += pieces()[static_cast<std::size_t>(token)]; },
      [](Token token) { return static_cast<std::size_t>(token) + 1 == pieces().size(); });
  json::Array unenforced, texts;
  for (const auto& one : made->unenforced) {
    unenforced.push_back(json::Object{{"keyword", one.keyword}, {"pointer", one.pointer}, {"reason", one.reason}});
  }
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const auto text = Sampler(shared, vocabulary, seed).make();
    if (!text.empty()) texts.emplace_back(text);
  }
  return {{"unenforced", unenforced}, {"texts", texts}};
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = static_cast<std::uint32_t>(argc > 1 ? std::stoul(argv[1]) : 20);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << json::serialize(samples(line, count)) << std::endl;
  }
}
