#include "json_schema/pattern_parser.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "json_schema/language.h"
#include "json_schema/pattern.h"
#include "json_schema/text.h"

namespace corral::json_schema {
namespace {

using Kind = PatternPart::Kind;

constexpr std::size_t kMaxNesting = 60;
constexpr std::uint32_t kMaxRepetitions = 100'000;

const CharSet& digits() {
  static const CharSet set({{U'0', U'9'}});
  return set;
}
const CharSet& word_characters() {
  static const CharSet set({{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}});
  return set;
}
const CharSet& spaces() {
  static const CharSet set({{0x09, 0x0D},
                            {0x20, 0x20},
                            {0xA0, 0xA0},
                            {0x1680, 0x1680},
                            {0x2000, 0x200A},
                            {0x2028, 0x2029},
                            {0x202F, 0x202F},
                            {0x205F, 0x205F},
                            {0x3000, 0x3000},
                            {0xFEFF, 0xFEFF}});
  return set;
}
const CharSet& line_ends() {
  static const CharSet set({{0x0A, 0x0A}, {0x0D, 0x0D}, {0x2028, 0x2029}});
  return set;
}

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }

class PatternParser {
 public:
  explicit PatternParser(std::string_view pattern) : text_(characters_of(pattern)) {}

  PatternPart parse() {
    auto all = alternatives(0);
    if (at_ < text_.size()) fault("has a ')' without '('");
    return all;
  }

 private:
  [[noreturn]] static void refuse(std::string reason) { throw UnsupportedPattern{std::move(reason), false}; }
  [[noreturn]] static void fault(std::string reason) { throw UnsupportedPattern{std::move(reason), true}; }

  bool at_end() const { return at_ >= text_.size(); }
  char32_t peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : U'\0'; }
  bool take(std::u32string_view what) {
    if (text_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }

  PatternPart alternatives(std::size_t depth) {
    if (depth > kMaxNesting) refuse(fmt::format("nests more than {} deep", kMaxNesting));
    PatternPart all{.kind = Kind::alternatives};
    do {
      PatternPart sequence;
      while (!at_end() && peek() != U'|' && peek() != U')') sequence.parts.push_back(repeated(depth));
      all.parts.push_back(std::move(sequence));
    } while (take(U"|"));
    return all.parts.size() == 1 ? std::move(all.parts.front()) : std::move(all);
  }

  PatternPart repeated(std::size_t depth) {
    auto part = atom(depth);
    std::uint32_t min = 0, max = 0;
    if (!quantifier(min, max)) return part;
    take(U"?");  // it only selects one of several matches
    PatternPart whole{.kind = Kind::repeat, .min = min, .max = max};
    whole.parts.push_back(std::move(part));
    if (quantifier(min, max)) refuse("repeats a repetition that isn't in parentheses");
    return whole;
  }

  bool quantifier(std::uint32_t& min, std::uint32_t& max) {
    min = 0;
    max = Languages::kUnbounded;
    if (take(U"*")) return true;
    if (take(U"+")) {
      min = 1;
      return true;
    }
    if (take(U"?")) {
      max = 1;
      return true;
    }
    return peek() == U'{' && is_digit(peek(1)) && counts(min, max);
  }

  std::uint32_t count() {
    std::uint32_t value = 0;
    while (is_digit(peek())) {
      value = value * 10 + static_cast<std::uint32_t>(text_[at_++] - U'0');
      if (value > kMaxRepetitions) fault(fmt::format("has a repetition of more than {} times", kMaxRepetitions));
    }
    return value;
  }
  bool counts(std::uint32_t& min, std::uint32_t& max) {
    ++at_;
    min = count();
    max = min;
    if (take(U",")) max = is_digit(peek()) ? count() : Languages::kUnbounded;
    if (!take(U"}")) fault("has a '{' without '}'");
    if (max < min) fault("has a repetition with a maximum below its minimum");
    return true;
  }

  PatternPart atom(std::size_t depth) {
    if (take(U"(")) return group(depth);
    if (take(U"^")) return {.kind = Kind::begin};
    if (take(U"$")) return {.kind = Kind::end};
    if (take(U".")) return {.kind = Kind::characters, .characters = ~line_ends()};
    if (take(U"[")) return {.kind = Kind::characters, .characters = character_class()};
    if (peek() == U'*' || peek() == U'+' || peek() == U'?') fault("repeats what isn't there");
    return {.kind = Kind::characters, .characters = take(U"\\") ? escape(false) : CharSet::one(text_[at_++])};
  }

  PatternPart group(std::size_t depth) {
    PatternPart look{.kind = Kind::look_ahead};
    if (take(U"?=") || take(U"?!")) {
      look.negative = text_[at_ - 1] == U'!';
      look.parts.push_back(alternatives(depth + 1));
      if (!take(U")")) fault("has a '(' without ')'");
      return look;
    }
    if (take(U"?<=") || take(U"?<!")) refuse("looks behind");
    if (take(U"?<")) {
      while (!at_end() && peek() != U'>') ++at_;
      take(U">");
    } else if (!take(U"?:") && peek() == U'?') {
      refuse("has a group of an unknown kind");
    }
    auto inner = alternatives(depth + 1);
    if (!take(U")")) fault("has a '(' without ')'");
    return inner;
  }

  char32_t hexadecimal(std::size_t min, std::size_t max) {
    char32_t value = 0;
    std::size_t read = 0;
    for (; read < max; ++read, ++at_) {
      const auto c = peek();
      if (is_digit(c)) {
        value = value * 16 + (c - U'0');
      } else if ((c | 0x20) >= U'a' && (c | 0x20) <= U'f') {
        value = value * 16 + ((c | 0x20) - U'a' + 10);
      } else {
        break;
      }
    }
    if (read < min || value > kLastCharacter) refuse("has an escape without its hexadecimal digits");
    return value;
  }

  CharSet escape(bool in_class) {
    if (at_end()) fault("ends in a '\\'");
    const auto c = text_[at_++];
    switch (c) {
      case U'd':
        return digits();
      case U'D':
        return ~digits();
      case U'w':
        return word_characters();
      case U'W':
        return ~word_characters();
      case U's':
        return spaces();
      case U'S':
        return ~spaces();
      case U't':
        return CharSet::one(0x09);
      case U'n':
        return CharSet::one(0x0A);
      case U'v':
        return CharSet::one(0x0B);
      case U'f':
        return CharSet::one(0x0C);
      case U'r':
        return CharSet::one(0x0D);
      case U'b':
        if (in_class) return CharSet::one(0x08);
        refuse("has a word boundary '\\b'");
      case U'0':
        if (!is_digit(peek())) return CharSet::one(0);
        break;
      case U'c':
        if ((peek() | 0x20) < U'a' || (peek() | 0x20) > U'z') refuse("has a '\\c' without a letter");
        return CharSet::one(text_[at_++] % 32);
      case U'x':
        return CharSet::one(hexadecimal(2, 2));
      case U'u':
        return CharSet::one(unicode());
      default:
        break;
    }
    const bool alphanumeric = is_digit(c) || ((c | 0x20) >= U'a' && (c | 0x20) <= U'z');
    if (alphanumeric) refuse(fmt::format("has the escape '\\{}'", static_cast<char>(c)));
    return CharSet::one(c);
  }

  char32_t unicode() {
    if (take(U"{")) {
      const auto value = hexadecimal(1, 6);
      if (!take(U"}")) refuse("has an escape without '}'");
      return value;
    }
    const auto high = hexadecimal(4, 4);
    if (high < 0xD800 || high > 0xDBFF || !take(U"\\u")) return high;
    const auto low = hexadecimal(4, 4);
    if (low < 0xDC00 || low > 0xDFFF) refuse("has half of a pair of escapes");
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }

  CharSet class_member() { return take(U"\\") ? escape(true) : CharSet::one(text_[at_++]); }

  CharSet character_class() {
    const bool inverse = take(U"^");
    std::vector<CharSet::Range> ranges;
    while (!take(U"]")) {
      if (at_end()) fault("has a '[' without ']'");
      const auto member = class_member();
      if (peek() == U'-' && peek(1) != U']' && peek(1) != U'\0') {
        ++at_;
        const auto last = class_member();
        const auto single = [](const CharSet& set) {
          return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].second;
        };
        if (!single(member) || !single(last)) refuse("has a range that ends in a class");
        const auto low = member.ranges()[0].first, high = last.ranges()[0].first;
        if (low > high) fault("has a range that ends before it begins");
        ranges.emplace_back(low, high);
      } else {
        ranges.insert(ranges.end(), member.ranges().begin(), member.ranges().end());
      }
    }
    const CharSet all(std::move(ranges));
    return inverse ? ~all : all;
  }

  const std::u32string text_;
  std::size_t at_ = 0;
};

}  // namespace

PatternPart parse_pattern(std::string_view pattern) { return PatternParser(pattern).parse(); }

}  // namespace corral::json_schema
