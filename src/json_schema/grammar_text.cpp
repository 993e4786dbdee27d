#include "json_schema/grammar_text.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>

namespace corral::json_schema {
namespace {

constexpr std::size_t kMaxBytes = 8 * 1024 * 1024;
// Maximum of one repetition; longer ones consist of blocks of this size.
constexpr std::size_t kBlock = 1000;

struct Builtin {
  std::string_view name, body;  // <name> in a body: another of these rules
};
constexpr Builtin kBuiltins[] = {
    {"space", R"(| " " | "\n"{1,2} [ \t]{0,20})"},
    // Escapes of surrogates come in pairs, which are one character.
    {"char",
     R"([\x20-\x21\x23-\x5B\x5D-\x7E\x80-\uD7FF\uE000-\U0010FFFF] | "\\" (["\\bfnrt] | "u" ([0-9a-cA-CefEF] )"
     R"([0-9a-fA-F]{3} | [dD] ([0-7] [0-9a-fA-F]{2} | [89abAB] [0-9a-fA-F]{2} "\\u" [dD] [c-fC-F] [0-9a-fA-F]{2}))))"},
    {"string", R"("\"" <char>* "\"")"},
    {"whole", R"([0] | [1-9] [0-9]{0,15})"},
    // Exponents that leave a number finite.
    {"number", R"("-"? <whole> ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?)"},
    {"integer", R"("-"? <whole>)"},
    {"boolean", R"("true" | "false")"},
    {"null", R"("null")"},
    {"object",
     R"("{" <space> (<string> ":" <space> <value> ("," <space> <string> ":" <space> <value>)*)? <space> "}")"},
    {"array", R"("[" <space> (<value> ("," <space> <value>)*)? <space> "]")"},
    {"value", R"(<object> | <array> | <string> | <number> | <boolean> | <null>)"},
};

std::string class_character(char32_t c) {
  const auto code = static_cast<std::uint32_t>(c);
  const bool plain = (c >= U'0' && c <= U'9') || (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
  if (plain) return std::string(1, static_cast<char>(c));
  if (code <= 0xFF) return fmt::format("\\x{:02X}", code);
  return code <= 0xFFFF ? fmt::format("\\u{:04X}", code) : fmt::format("\\U{:08X}", code);
}

std::string class_text(const CharSet& characters) {
  std::string text = "[";
  for (const auto& [low, high] : characters.ranges()) {
    text += class_character(low);
    if (high == low) continue;
    if (high > low + 1) text += '-';
    text += class_character(high);
  }
  return text + "]";
}

// Characters without an escape in a JSON string.
const CharSet& unescaped() {
  static const CharSet set({{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7E}, {0x80, 0xD7FF}, {0xE000, kLastCharacter}});
  return set;
}

struct ShortEscape {
  char32_t character;
  char letter;
};
constexpr ShortEscape kShortEscapes[] = {{U'"', '"'},  {U'\\', '\\'}, {U'\b', 'b'}, {U'\f', 'f'},
                                         {U'\n', 'n'}, {U'\r', 'r'},  {U'\t', 't'}};

}  // namespace

std::string literal(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      all += '\\';
      all += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      all += fmt::format("\\x{:02X}", static_cast<unsigned>(c));
    } else {
      all += c;
    }
  }
  return all + "\"";
}

std::string GrammarText::reserve() { return fmt::format("{}{}", prefix_, count_++); }

void GrammarText::define(const std::string& name, std::string_view body) {
  text_ += fmt::format("{} ::= {}\n", name, body.empty() ? R"("")" : body);
  if (text_.size() > kMaxBytes) throw GrammarTooLarge();
}

std::string GrammarText::rule(std::string body) {
  if (const auto known = by_body_.find(body); known != by_body_.end()) return known->second;
  auto name = reserve();
  define(name, body);
  by_body_.emplace(std::move(body), name);
  return name;
}

std::string GrammarText::builtin(std::string_view name) {
  if (const auto known = builtins_.find(name); known != builtins_.end()) return known->second;
  auto own = fmt::format("{}{}", prefix_, name);
  builtins_.emplace(name, own);
  std::string_view body = std::ranges::find(kBuiltins, name, &Builtin::name)->body;
  std::string made;
  while (!body.empty()) {
    const auto begin = std::min(body.find('<'), body.size());
    made += body.substr(0, begin);
    body.remove_prefix(begin);
    if (body.empty()) break;
    const auto end = body.find('>');
    made += builtin(body.substr(1, end - 1));
    body.remove_prefix(end + 1);
  }
  define(own, made);
  return own;
}

std::string GrammarText::repeat(const std::string& item, std::size_t min, std::size_t max) {
  // No answer is that long.
  if (max > kBlock * kBlock) max = Languages::kUnbounded;
  if (max == 0) return "";
  if (max == Languages::kUnbounded) {
    const auto blocks = std::min(min / kBlock, kBlock);
    std::string all;
    if (blocks > 0) all = fmt::format("{}{{{}}} ", rule(fmt::format("{}{{{}}}", item, kBlock)), blocks);
    return fmt::format("{}{}{{{},}}", all, item, min % kBlock);
  }
  if (max <= kBlock) return fmt::format("{}{{{},{}}}", item, min, max);
  // Required blocks first; then the optional items, as blocks and a rest.
  std::string all;
  const auto block = rule(fmt::format("{}{{{}}}", item, kBlock));
  if (min >= kBlock) {
    all = fmt::format("{}{{{}}} ", block, min / kBlock);
    max -= min / kBlock * kBlock;
    min %= kBlock;
  }
  if (min > 0) {
    all += fmt::format("{}{{{}}} ", item, min);
    max -= min;
  }
  auto rest = rule(max % kBlock == 0 ? std::string() : fmt::format("{}{{0,{}}}", item, max % kBlock));
  const auto fewer = rule(fmt::format("{}{{0,{}}}", item, kBlock - 1));
  for (std::size_t blocks = max / kBlock; blocks > 0; --blocks) {
    rest = rule(fmt::format("{} {} | {}", block, rest, fewer));
  }
  return all + rest;
}

std::string GrammarText::encoded(const CharSet& characters) {
  if (const auto known = encoded_.find(characters); known != encoded_.end()) return known->second;
  std::vector<std::string> ways;
  const auto plain = characters & unescaped();
  if (!plain.empty()) ways.push_back(class_text(plain));
  CharSet letters;
  auto others = characters & CharSet({{0, 0x1F}, {0x7F, 0x7F}});
  for (const auto& [character, letter] : kShortEscapes) {
    if (!characters.contains(character)) continue;
    letters = letters | CharSet::one(static_cast<char32_t>(letter));
    others = others & ~CharSet::one(character);
  }
  if (!letters.empty()) ways.push_back(R"("\\" )" + class_text(letters));
  for (const char32_t high : {0, 1, 7}) {
    CharSet low;
    for (char32_t digit = 0; digit < 16; ++digit) {
      if (!others.contains(high * 16 + digit)) continue;
      low = low |
            (digit < 10 ? CharSet::one(U'0' + digit)
                        : CharSet({{U'a' + digit - 10, U'a' + digit - 10}, {U'A' + digit - 10, U'A' + digit - 10}}));
    }
    if (!low.empty()) ways.push_back(fmt::format(R"("\\u00{}" {})", static_cast<int>(high), class_text(low)));
  }
  auto made = ways.size() == 1 ? ways[0]
              : ways.empty()   ? std::string()
                               : rule(fmt::format("{}", fmt::join(ways, " | ")));
  return encoded_.emplace(characters, std::move(made)).first->second;
}

std::string GrammarText::automaton_rule(const Automaton& automaton, bool quoted) {
  const auto& states = automaton.states;
  const std::string quote = quoted ? R"("\"")" : "";
  std::vector<std::size_t> entries(states.size());
  for (const auto& state : states) {
    for (const auto& [characters, to] : state.next) ++entries[to];
  }
  // States with one entry and one exit are written inline.
  const auto inlined = [&](std::size_t at) {
    return at != 0 && entries[at] == 1 && states[at].next.size() == 1 && !states[at].may_end;
  };
  std::vector<std::string> names(states.size());
  const auto name_of = [&](std::size_t at) -> const std::string& {
    if (names[at].empty()) names[at] = reserve();
    return names[at];
  };
  const auto characters_text = [&](const CharSet& set) { return quoted ? encoded(set) : class_text(set); };
  for (std::size_t at = 0; at < states.size(); ++at) {
    if (inlined(at) || (at != 0 && states[at].next.empty())) continue;
    std::vector<std::string> ways;
    for (const auto& [characters, first] : states[at].next) {
      auto way = characters_text(characters);
      auto to = first;
      while (inlined(to)) {
        const auto& [inner, next] = states[to].next.front();
        way += ' ';
        way += characters_text(inner);
        to = next;
      }
      way += ' ';
      way += states[to].next.empty() ? quote : name_of(to);
      ways.push_back(std::move(way));
    }
    if (states[at].may_end) ways.push_back(quote);
    if (!quoted && states[at].may_end) std::rotate(ways.begin(), ways.end() - 1, ways.end());
    define(name_of(at), fmt::format("{}", fmt::join(ways, " | ")));
  }
  return quoted ? rule(fmt::format("{} {}", quote, names[0])) : names[0];
}

}  // namespace corral::json_schema
