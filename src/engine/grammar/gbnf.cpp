// From the text of a grammar to its rules.
#include "engine/grammar/gbnf.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "engine/grammar/rules.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

using Kind = GrammarSymbol::Kind;
using Rule = GrammarRule;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, const FindToken& find_token) : text_(text), find_token_(find_token) {}

  Grammar parse() {
    skip_space(true);
    while (at_ < text_.size()) parse_rule();
    rule_name_ = {};
    return std::move(rules_).table(text_.size());
  }
  // Position of a fault, as text.
  std::string place(std::size_t at) const {
    const auto before = text_.substr(0, std::min(at, text_.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    const auto column = 1 + std::ranges::count_if(before.substr(begin), [](char c) {
                          return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                        });
    return fmt::format("line {}, column {}{}", line, column,
                       rule_name_.empty() ? std::string() : fmt::format(", in the rule '{}'", rule_name_));
  }

 private:
  [[noreturn]] void fault(std::string reason) const { throw GrammarFault{at_, std::move(reason)}; }
  [[noreturn]] void expected(std::string_view what) const {
    fault(at_ < text_.size() ? fmt::format("expected {}, not '{}'", what, shown()) : fmt::format("expected {}", what));
  }
  // The whole character at this position.
  std::string_view shown() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    return text_.substr(at_, end - at_);
  }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  void skip_space(bool newlines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
      } else if (c == ' ' || c == '\t' || (newlines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        break;
      }
    }
  }

  std::string_view name() {
    const auto begin = at_;
    while (is_word(peek())) ++at_;
    if (at_ == begin) expected("the name of a rule");
    return text_.substr(begin, at_ - begin);
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    const auto* end = text_.data() + text_.size();
    const auto parsed = std::from_chars(text_.data() + at_, end, value);
    if (!is_digit(peek()) || parsed.ec != std::errc()) expected("a number");
    at_ = static_cast<std::size_t>(parsed.ptr - text_.data());
    return value;
  }

  std::uint32_t hex(std::size_t digits) {
    std::uint32_t value = 0;
    const auto part = text_.substr(at_, digits);
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (part.size() != digits || parsed.ptr != part.data() + digits)
      expected(fmt::format("{} hexadecimal digits", digits));
    at_ += digits;
    return value;
  }

  std::uint32_t character() {
    if (take('\\')) {
      const char escape = peek();
      ++at_;
      switch (escape) {
        case 'x':
          return hex(2);
        case 'u':
          return hex(4);
        case 'U':
          return hex(8);
        case 't':
          return '\t';
        case 'r':
          return '\r';
        case 'n':
          return '\n';
        case '\\':
        case '"':
        case '[':
        case ']':
        case '-':
          return static_cast<unsigned char>(escape);
        default:
          --at_;
          fault(at_ < text_.size() ? fmt::format("'\\{}' is not an escape", shown()) : "the text ends in an escape");
      }
    }
    const auto lead = static_cast<unsigned char>(text_[at_]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
    if (length == 0 || at_ + length > text_.size()) fault("a byte that is not UTF-8");
    std::uint32_t value = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) value = value << 6 | (static_cast<unsigned char>(text_[at_ + i]) & 0x3Fu);
    at_ += length;
    return value;
  }

  void grow(std::size_t by) {
    symbols_ += by;
    if (symbols_ > kMaxGrammarSymbols) {
      fault(fmt::format("with repetitions expanded, the grammar has more than {} symbols: repeat less",
                        kMaxGrammarSymbols));
    }
  }
  void add(Rule& rule, Kind kind, std::uint32_t value = 0) {
    grow(1);
    rule.push_back({kind, value});
  }

  void parse_rule() {
    rule_name_ = {};
    const auto own = name();
    rule_name_ = own;
    const auto id = rules_.named(own, at_ - own.size());
    skip_space(false);
    if (text_.substr(at_, 3) != "::=") expected("'::=' behind the name of a rule");
    at_ += 3;
    skip_space(true);
    auto rule = alternatives(false, 0);
    if (take('\r')) {
      take('\n');
    } else if (!take('\n') && at_ < text_.size()) {
      expected("a symbol or the end of the line");
    }
    rules_.define(id, std::move(rule));
    skip_space(true);
  }

  Rule alternatives(bool nested, std::size_t depth) {
    if (depth > kMaxGrammarNesting) {
      fault(fmt::format("parentheses nest more than {} deep: use rules instead", kMaxGrammarNesting));
    }
    Rule rule;
    sequence(rule, nested, depth);
    while (take('|')) {
      add(rule, Kind::alternative);
      skip_space(true);
      sequence(rule, nested, depth);
    }
    add(rule, Kind::end);
    return rule;
  }

  // Reads symbols up to the first text that is none. The last item is what an operator behind it repeats.
  void sequence(Rule& rule, bool nested, std::size_t depth) {
    std::size_t item = rule.size();
    while (at_ < text_.size()) {
      const auto begin = rule.size();
      switch (peek()) {
        case '"':
          ++at_;
          while (!take('"')) {
            if (at_ >= text_.size()) expected("a closing quote");
            add(rule, Kind::character, character());
          }
          break;
        case '[':
          ++at_;
          character_class(rule);
          break;
        case '(': {
          ++at_;
          skip_space(true);
          const auto id = rules_.unnamed(at_);
          auto inner = alternatives(true, depth + 1);
          if (!take(')')) expected("a symbol or ')'");
          rules_.define(id, std::move(inner));
          add(rule, Kind::rule, id);
          break;
        }
        case '.':
          ++at_;
          add(rule, Kind::any);
          break;
        case '<':
        case '!':
          token(rule);
          break;
        case '*':
        case '+':
        case '?':
        case '{': {
          const auto operation = at_;
          const auto [min, max] = repetition();
          if (item == rule.size()) {
            at_ = operation;
            fault("nothing before the repetition that could be repeated");
          }
          repeat(rule, item, min, max);
          skip_space(nested);
          continue;
        }
        default:
          if (!is_word(peek())) return;
          const auto other = name();
          add(rule, Kind::rule, rules_.named(other, at_ - other.size()));
      }
      item = begin;
      skip_space(nested);
    }
  }

  void character_class(Rule& rule) {
    const bool inverse = take('^');
    Grammar::Ranges ranges;
    while (!take(']')) {
      if (at_ >= text_.size()) expected("']'");
      const auto low = character();
      auto high = low;
      if (peek() == '-' && peek(1) != ']') {
        ++at_;
        if (at_ >= text_.size()) expected("the end of the range");
        high = character();
      }
      grow(1);
      ranges.emplace_back(low, high);
    }
    // As in libllama: an empty class adds nothing.
    if (ranges.empty()) return;
    if (!inverse && ranges.size() == 1 && ranges[0].first == ranges[0].second)
      return add(rule, Kind::character, ranges[0].first);
    add(rule, inverse ? Kind::not_in_class : Kind::in_class, rules_.add_class(std::move(ranges)));
  }

  void token(Rule& rule) {
    const bool inverse = take('!');
    const auto begin = at_;
    if (!take('<')) expected("'<' and a token");
    std::uint64_t id = 0;
    if (take('[')) {
      id = number();
      if (!take(']') || !take('>')) expected("']>' behind the number of a token");
    } else {
      const auto end = text_.find('>', at_);
      if (end == std::string_view::npos) expected("'>' behind a token");
      const auto spelled = text_.substr(begin, end + 1 - begin);
      const auto found = find_token_ ? find_token_(spelled) : std::nullopt;
      if (!found) fault(fmt::format("'{}' is not one token of this model", spelled.substr(0, 60)));
      id = static_cast<std::uint64_t>(*found);
      at_ = end + 1;
    }
    if (id > std::numeric_limits<std::int32_t>::max()) fault("no model has a token with this number");
    add(rule, inverse ? Kind::not_token : Kind::token, static_cast<std::uint32_t>(id));
  }

  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  std::pair<std::uint64_t, std::uint64_t> repetition() {
    if (take('*')) return {0, kUnbounded};
    if (take('+')) return {1, kUnbounded};
    if (take('?')) return {0, 1};
    ++at_;
    skip_space(true);
    const auto min = number();
    auto max = min;
    skip_space(true);
    if (take(',')) {
      skip_space(true);
      max = is_digit(peek()) ? number() : kUnbounded;
      skip_space(true);
    }
    if (!take('}')) expected("',' or '}'");
    if (min > kMaxRepetition) fault(fmt::format("repeated {} times, at most {} are allowed", min, kMaxRepetition));
    if (max < min) fault(fmt::format("repeated at least {} and at most {} times", min, max));
    return {min, max > kMaxRepetition ? kUnbounded : max};
  }

  // S{2,4} is S S s where s is S s' or nothing, and s' is S or nothing; S{2,} is S S s where s is S s or nothing.
  void repeat(Rule& rule, std::size_t item, std::uint64_t min, std::uint64_t max) {
    const Rule repeated(rule.begin() + static_cast<std::ptrdiff_t>(item), rule.end());
    if (min == 0) {
      rule.resize(item);
    } else {
      for (std::uint64_t i = 1; i < min; ++i) {
        grow(repeated.size());
        rule.insert(rule.end(), repeated.begin(), repeated.end());
      }
    }
    const auto optional = max == kUnbounded ? 1 : max - min;
    std::optional<std::uint32_t> inner;
    for (std::uint64_t i = 0; i < optional; ++i) {
      grow(repeated.size() + 3);
      const auto id = rules_.unnamed(at_);
      auto rest = repeated;
      if (max == kUnbounded) inner = id;
      if (inner) rest.push_back({Kind::rule, *inner});
      rest.push_back({Kind::alternative, 0});
      rest.push_back({Kind::end, 0});
      rules_.define(id, std::move(rest));
      inner = id;
    }
    if (inner) add(rule, Kind::rule, *inner);
  }

  const std::string_view text_;
  const FindToken& find_token_;
  std::size_t at_ = 0;
  std::string_view rule_name_;
  std::size_t symbols_ = 0;
  GrammarRules rules_;
};

}  // namespace

Result<Grammar> parse_gbnf(std::string_view text, const FindToken& find_token) {
  Parser parser(text, find_token);
  try {
    return parser.parse();
  } catch (const GrammarFault& fault) {
    return fail(errc::invalid_argument,
                fmt::format("'grammar' can't be used: {}: {}", parser.place(fault.at), fault.reason), "grammar");
  }
}

}  // namespace corral::engine
