#include <cmath>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/utf8.h"
#include "engine/grammar/follower.h"
#include "engine/sample/sampler_chain.h"
#include "engine/test_support.h"
#include "engine/values/errors.h"

namespace corral::engine::test {
namespace {

using ::testing::HasSubstr;

// Tokens by their texts; the last one ends an answer.
GrammarVocabulary vocabulary(std::vector<std::string> texts) {
  texts.emplace_back("<end>");
  const auto append = [&](Token token, std::string& to) { to += texts[static_cast<std::size_t>(token)]; };
  return {static_cast<std::uint32_t>(texts.size()), append,
          [&](Token token) { return static_cast<std::size_t>(token) + 1 == texts.size(); }};
}

// Every byte is a token.
const GrammarVocabulary& bytes() {
  static const GrammarVocabulary all = [] {
    std::vector<std::string> texts;
    for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
    return vocabulary(texts);
  }();
  return all;
}

GrammarMatcher matcher(std::string_view gbnf, const GrammarVocabulary& vocab = bytes(), MatcherLimits limits = {}) {
  auto grammar = parse_gbnf(gbnf, {});
  if (!grammar) throw std::runtime_error(grammar.error().message);
  return {std::make_shared<const Grammar>(std::move(*grammar)), vocab, limits};
}

// Whether the grammar allows this text, and it may end there.
bool takes(std::string_view gbnf, std::string_view text) {
  auto one = matcher(gbnf);
  for (const char c : text) {
    const Token token = static_cast<unsigned char>(c);
    if (!one.allows(token)) return false;
    one.accept(token);
  }
  return one.may_end();
}

std::string fault(std::string_view gbnf) {
  const auto parsed = parse_gbnf(gbnf, {});
  if (parsed) return "none";
  EXPECT_EQ(parsed.error().code, errc::invalid_argument);
  EXPECT_EQ(parsed.error().param, "grammar");
  return parsed.error().message;
}

TEST(Grammar, TakesWhatItSays) {
  EXPECT_TRUE(takes(R"(root ::= "yes" | "no" [0-9]+ "!")", "no17!"));
  EXPECT_FALSE(takes(R"(root ::= "yes" | "no" [0-9]+ "!")", "no!"));
  EXPECT_FALSE(takes(R"(root ::= "yes" | "no" [0-9]+ "!")", "ye"));
  EXPECT_TRUE(takes("root ::= item (\",\" item)* # a list\nitem ::=\n [^,\\n] [\\x61-c]?\n", "x,éb,a"));
  EXPECT_TRUE(takes(R"(root ::= "a"{2,3} "b"{2} "c"{1,} .)", "aaabbccd"));
  EXPECT_FALSE(takes(R"(root ::= "a"{2,3} "b"{2} "c"{1,} .)", "aaaabbccd"));
  EXPECT_TRUE(takes(R"g(root ::= "(" root ")" | "")g", "((()))"));
  EXPECT_FALSE(takes(R"g(root ::= "(" root ")" | "")g", "((())"));
  EXPECT_TRUE(takes("root ::= [\\u4e00-\\u9fff]+", "中文"));
  EXPECT_FALSE(takes("root ::= [\\u4e00-\\u9fff]+", "é"));
  EXPECT_TRUE(takes("root ::= x* \"!\"\nx ::= y?\ny ::= \"a\"", "aa!"));
}

TEST(Grammar, FaultsSayWhereTheyAre) {
  EXPECT_EQ(fault("root ::= ("),
            "'grammar' can't be used: line 1, column 11, in the rule 'root': expected a symbol or ')'");
  EXPECT_THAT(fault("root ::= item\nitem ::= \"é\" }"),
              HasSubstr("line 2, column 14, in the rule 'item': expected a symbol or the end of the line, not '}'"));
  EXPECT_THAT(fault("root = \"a\""), HasSubstr("line 1, column 6, in the rule 'root': expected '::='"));
  EXPECT_THAT(fault("start ::= \"a\""), HasSubstr("no rule 'root'"));
  EXPECT_THAT(fault("root ::= \"a\"\n  thing"), HasSubstr("line 2, column 8, in the rule 'thing': expected '::='"));
  EXPECT_THAT(fault("root ::= \"a\" | thing"), HasSubstr("line 1, column 16: the rule 'thing' is used"));
  EXPECT_THAT(fault("root ::= root \"a\" | \"b\""), HasSubstr("the rule 'root' begins with itself"));
  EXPECT_THAT(fault("root ::= a\na ::= \"\" | \"x\"\nb ::= a b"), HasSubstr("the rule 'b' begins with itself"));
  EXPECT_THAT(fault("root ::= *"), HasSubstr("nothing before the repetition"));
  EXPECT_THAT(fault(R"(root ::= "\q")"), HasSubstr(R"('\q' is not an escape)"));
  EXPECT_THAT(fault(R"(root ::= "a)"), HasSubstr("closing quote"));
  EXPECT_THAT(fault(R"(root ::= [a)"), HasSubstr("expected ']'"));
  EXPECT_THAT(fault(R"(root ::= "\x6")"), HasSubstr("2 hexadecimal digits"));
  EXPECT_THAT(fault(R"(root ::= <think>)"), HasSubstr("not one token"));
  EXPECT_THAT(fault(""), HasSubstr("no rule 'root'"));
}

// Each of these took memory or stack without a bound, or time that doubles with each rule.
TEST(Grammar, WhatGrowsIsRefused) {
  EXPECT_THAT(fault(R"(root ::= "a"{100000})"), HasSubstr("at most 2000"));
  EXPECT_THAT(fault(R"(root ::= (((("a"{2000}){2000}){2000}){2000}))"), HasSubstr("none"));  // references, not copies
  EXPECT_THAT(fault("root ::= \"" + std::string(1000, 'a') + "\"{2000}"), HasSubstr("more than 262144 symbols"));
  EXPECT_THAT(fault("root ::= " + std::string(100'000, '(')), HasSubstr("nest more than 512"));
  std::string doubling = "root ::= r0\n";
  for (int i = 0; i < 60; ++i) {
    doubling += fmt::format("r{} ::= r{} \"a\" | r{} \"b\"\n", i, i + 1, i + 1);
  }
  doubling += "r60 ::= \"c\"\n";
  EXPECT_EQ(fault(doubling), "none");
  EXPECT_THROW(matcher(doubling), std::runtime_error);
}

TEST(Grammar, AnAmbiguousOneEndsWithAnError) {
  auto one = matcher(R"(root ::= "x" root "a" | "x" root "b" | "x" root "c" | "y")");
  const auto read = [&] {
    for (int i = 0; i < 60; ++i) one.accept('x');
  };
  EXPECT_THROW(read(), std::runtime_error);
  // The same within one token.
  const auto words = vocabulary({std::string(60, 'x'), "x"});
  auto other = matcher(R"(root ::= "x" root "a" | "x" root "b" | "x" root "c" | "y")", words);
  EXPECT_THROW((void)other.allows(0), std::runtime_error);
  auto third = matcher(R"(root ::= "x" root "a" | "x" root "b" | "x" root "c" | "y")", words);
  EXPECT_THROW((void)third.allowed(), std::runtime_error);
}

// What is forgotten changes nothing, however deep the answer is.
TEST(Grammar, LongAnswersForgetAndGoOn) {
  auto one = matcher(R"g(root ::= "(" root ")" | [a-z]*)g", bytes(), {.kept_stacks = 64});
  for (int i = 0; i < 5000; ++i) one.accept('(');
  EXPECT_FALSE(one.may_end());
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(one.allows(')')) << i;
    one.accept(')');
  }
  EXPECT_TRUE(one.may_end());
  EXPECT_FALSE(one.allows(')'));
}

// A character may be spread over tokens.
TEST(Grammar, HalfCharacters) {
  auto one = matcher(R"(root ::= [é-ü]+)");
  EXPECT_TRUE(one.allows(0xC3));
  EXPECT_FALSE(one.allows(0xC2));  // no character of the range begins so
  one.accept(0xC3);
  EXPECT_FALSE(one.allows('a'));
  EXPECT_TRUE(one.allows(0xA9));
  EXPECT_FALSE(one.allows(0xA8));
  one.accept(0xA9);
  EXPECT_TRUE(one.may_end());
}

TEST(Grammar, TokensByNumberAndName) {
  const auto words = vocabulary({"a", "<go>", "b"});
  const auto parsed = parse_gbnf("root ::= <[0]> <go> !<[0]>", [](std::string_view text) -> std::optional<Token> {
    return text == "<go>" ? std::optional(1) : std::nullopt;
  });
  ASSERT_TRUE(parsed) << parsed.error().message;
  GrammarMatcher one(std::make_shared<const Grammar>(*parsed), words);
  EXPECT_EQ(one.allowed(), (std::vector<bool>{true, false, false, false}));
  one.accept(0);
  EXPECT_EQ(one.allowed(), (std::vector<bool>{false, true, false, false}));
  one.accept(1);
  EXPECT_EQ(one.allowed(), (std::vector<bool>{false, true, true, false}));
  one.accept(2);
  EXPECT_EQ(one.allowed(), (std::vector<bool>{false, false, false, true}));
}

std::unique_ptr<GrammarFollower> lazy(GrammarOptions options) {
  options.lazy = true;
  auto shared = SharedGrammar::make(options, bytes(), {});
  if (!shared) throw std::runtime_error(shared.error().message);
  return std::make_unique<GrammarFollower>(*shared);
}

void accept_text(GrammarFollower& one, std::string_view text) {
  for (const char c : text) one.accept(static_cast<unsigned char>(c));
}

TEST(Grammar, TriggersOfEachKind) {
  const std::string gbnf = R"(root ::= "<call>" [a-z]+)";
  auto word = lazy({.gbnf = gbnf, .trigger_words = {"<call>"}});
  accept_text(*word, "some text < <cal <call");
  EXPECT_FALSE(word->counts());
  accept_text(*word, ">");
  EXPECT_TRUE(word->counts());
  EXPECT_FALSE(word->allows('!'));
  EXPECT_TRUE(word->allows('a'));

  auto group = lazy({.gbnf = R"(root ::= "b" "c")", .trigger_patterns = {"[\\s\\S]*?a(b)[\\s\\S]*"}});
  accept_text(*group, "xab");
  EXPECT_TRUE(group->counts());
  EXPECT_TRUE(group->allows('c'));
  EXPECT_FALSE(group->allows('b'));

  auto start = lazy({.gbnf = R"(root ::= " to" "!")", .trigger_patterns = {"^\\s+to$"}});
  accept_text(*start, " to");
  EXPECT_TRUE(start->counts());
  auto late = lazy({.gbnf = R"(root ::= " to" "!")", .trigger_patterns = {"^\\s+to$"}});
  accept_text(*late, "x to");
  EXPECT_FALSE(late->counts());

  auto ahead = lazy({.gbnf = R"(root ::= ">>>" [a-z]+)", .trigger_patterns = {">>>(?!all)"}});
  accept_text(*ahead, ">>>");
  EXPECT_TRUE(ahead->counts());

  auto token = lazy({.gbnf = R"(root ::= "!" "?")", .trigger_tokens = {'!'}});
  accept_text(*token, "what!");
  EXPECT_TRUE(token->counts());
  EXPECT_FALSE(token->allows('!'));
}

// They hung the model (the first) or overflowed its stack (the second).
TEST(Grammar, PatternsThatBacktrackedForEver) {
  for (const auto* pattern : {"([a-z ]+)+!", "[\\s\\S]*?(x!)[\\s\\S]*"}) {
    auto one = lazy({.gbnf = "root ::= .", .trigger_patterns = {pattern}});
    for (int i = 0; i < 60'000; ++i) one->accept('a' + i % 20);
    EXPECT_FALSE(one->counts()) << pattern;
  }
}

TEST(Grammar, PatternsAreBounded) {
  const auto refused = [](const std::string& pattern, std::size_t times = 1) {
    const auto made =
        GrammarTriggers::make({.lazy = true, .trigger_patterns = std::vector<std::string>(times, pattern)});
    if (made) return std::string("none");
    EXPECT_EQ(made.error().param, "grammar_triggers");
    return made.error().message;
  };
  EXPECT_THAT(refused("(unclosed"), HasSubstr("missing )"));
  EXPECT_THAT(refused("(a)\\1"), HasSubstr("invalid escape"));
  EXPECT_THAT(refused(std::string(600, 'a')), HasSubstr("600 bytes, at most 512"));
  EXPECT_THAT(refused("((a{30}){30}){30}"), ::testing::Not("none"));
  EXPECT_THAT(refused("[ab]{400}", 3), HasSubstr("more than 1024 instructions"));
}

// --- against libllama ---

std::vector<bool> allowed_by_llama(llama_sampler* grammar, std::int32_t n_vocab) {
  std::vector<llama_token_data> candidates;
  for (Token token = 0; token < n_vocab; ++token) candidates.push_back({token, 1, 0});
  llama_token_data_array all{candidates.data(), candidates.size(), -1, false};
  llama_sampler_apply(grammar, &all);
  std::vector<bool> allowed;
  for (const auto& candidate : candidates) allowed.push_back(std::isfinite(candidate.logit));
  return allowed;
}

// libllama takes bytes that are no UTF-8 for characters.
bool begins_a_character(std::string_view piece) {
  return piece.empty() || static_cast<unsigned char>(piece.front()) < 0xF8;
}
bool has_whole_characters(std::string_view piece) {
  return valid_utf8(piece) == piece && complete_utf8_length(piece) == piece.size();
}

TEST(Grammar, AllowsWhatLibllamaAllows) {
  const auto service = load(load_options("tiny-qwen3"));
  const auto* vocab = service->vocab();
  const auto n_vocab = llama_vocab_n_tokens(vocab);
  const GrammarVocabulary ours(
      static_cast<std::uint32_t>(n_vocab), [&](Token token, std::string& to) { to += service->piece(token, true); },
      [&](Token token) { return service->is_end_of_generation(token); });
  const std::string json = R"(
root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [1-9] [0-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
)";
  const std::string grammars[] = {
      json,
      R"(root ::= ("é" | [а-я] | "中" . | [^a-z\n])+ "end"?)",
      R"(root ::= (word " "?){1,30} "."
word ::= [a-z]{1,12} | [A-Z] [a-z]* | "don't")",
      R"(root ::= "a"? ("b" | "") ([c-e]* "f")+ <[5]>? [^\]-])",
  };
  std::mt19937 random(5);
  for (const auto& gbnf : grammars) {
    auto parsed = parse_gbnf(gbnf, {});
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto grammar = std::make_shared<const Grammar>(std::move(*parsed));
    for (int walk = 0; walk < 4; ++walk) {
      const OwnedSampler llama(llama_sampler_init_grammar(vocab, gbnf.c_str(), "root"));
      ASSERT_TRUE(llama);
      GrammarMatcher one(grammar, ours);
      for (int step = 0; step < 25; ++step) {
        const auto expected = allowed_by_llama(llama.get(), n_vocab);
        const auto allowed = one.allowed();
        for (Token token = 0; token < n_vocab; ++token) {
          const auto at = static_cast<std::size_t>(token);
          if (!begins_a_character(ours.piece(token))) continue;
          ASSERT_EQ(allowed[at], expected[at]) << gbnf << " step " << step << ": " << token << " is "
                                               << ::testing::PrintToString(std::string(ours.piece(token)));
        }
        std::vector<Token> next;
        for (Token token = 0; token < n_vocab; ++token) {
          if (!expected[static_cast<std::size_t>(token)]) continue;
          if (!begins_a_character(ours.piece(token))) continue;
          ASSERT_TRUE(one.allows(token));
          if (!ours.ends(token) && has_whole_characters(ours.piece(token))) next.push_back(token);
        }
        if (next.empty()) break;
        const auto token = next[random() % next.size()];
        llama_sampler_accept(llama.get(), token);
        one.accept(token);
      }
    }
  }
}

}  // namespace
}  // namespace corral::engine::test
