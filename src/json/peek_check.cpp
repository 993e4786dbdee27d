// The single pass over a text.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>
#include <simdjson.h>

#include "json/errors.h"
#include "json/peeked_text.h"
#include "json/value.h"

namespace corral::json {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const auto letter = static_cast<char>(c | 0x20);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

void append_utf8(std::string& to, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  const auto follow = [&](int shift) { put(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    follow(6);
  } else {
    put(0xF0 | code >> 18);
    follow(12);
    follow(6);
  }
  follow(0);
}

// Reads characters up to the 0 after the text, which is no character of any value.
class Reader {
 public:
  explicit Reader(PeekedText& text) : text_(text), begin_(text.data), at_(begin_), end_(begin_ + text.size) {}

  bool read() {
    skip_space();
    text_.root.begin = here();
    if (!value(0, {})) return false;
    text_.root.end = here();
    skip_space();
    return at_ == end_ || wrong("extra data");
  }
  std::string reason() const { return fmt::format("{} at byte {}", reason_, here()); }

 private:
  std::uint32_t here() const { return static_cast<std::uint32_t>(at_ - begin_); }
  bool wrong(std::string_view reason) {
    reason_ = reason;
    return false;
  }
  void skip_space() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r') ++at_;
  }
  bool take(char c) {
    if (*at_ != c) return false;
    ++at_;
    return true;
  }

  bool value(std::size_t depth, PeekedText::Span name) {
    if (!text_.all_listed || too_many()) return any_value(depth);
    auto& node = text_.nodes[text_.node_count++];
    node.name = name;
    node.value.begin = here();
    node.next = 0;
    if (!any_value(depth)) return false;
    node.value.end = here();
    node.next = text_.node_count;
    return true;
  }

  // From here on only the outermost members are recorded, and those already passed.
  bool too_many() {
    if (text_.node_count < PeekedText::kListed) return false;
    text_.all_listed = false;
    if (*(begin_ + text_.root.begin) != '{') return true;
    for (std::uint32_t at = 1; at < text_.node_count && text_.nodes[at].next > 0; at = text_.nodes[at].next) {
      const auto& [name, value, next] = text_.nodes[at];
      const auto hint = std::ranges::lower_bound(text_.longs, value.begin, {}, &PeekedText::Span::begin);
      text_.members.push_back({name, value, static_cast<std::uint32_t>(hint - text_.longs.begin())});
    }
    return true;
  }

  bool any_value(std::size_t depth) {
    switch (*at_) {
      case '{':
        return container<'}'>(depth);
      case '[':
        return container<']'>(depth);
      case '"': {
        const auto begin = here();
        if (!string()) return false;
        if (here() - begin >= PeekedText::kLong) text_.longs.push_back({begin, here()});
        return true;
      }
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  template <char close>
  bool container(std::size_t depth) {
    if (depth == kMaxDepth) return wrong("too deep");
    const auto begin = here();
    const auto mark = text_.longs.size();
    text_.longs.push_back({begin, 0});
    ++at_;
    skip_space();
    if (!take(close)) {
      do {
        skip_space();
        if (!(close == '}' ? member(depth) : value(depth + 1, {}))) return false;
        skip_space();
      } while (take(','));
      if (!take(close)) return wrong("a ',' or an end is missing");
    }
    // Inner values of a short one are shorter: none of them was recorded.
    if (here() - begin >= PeekedText::kLong)
      text_.longs[mark].end = here();
    else
      text_.longs.pop_back();
    return true;
  }

  bool member(std::size_t depth) {
    if (*at_ != '"') return wrong("a name is missing");
    PeekedText::Span name{here() + 1, 0};
    if (!string()) return false;
    name.end = here() - 1;
    skip_space();
    if (!take(':')) return wrong("a ':' is missing");
    skip_space();
    const auto begin = here();
    const auto hint = static_cast<std::uint32_t>(text_.longs.size());
    if (!value(depth + 1, name)) return false;
    if (depth > 0 || text_.all_listed || !text_.members_listed) return true;
    text_.members_listed = text_.members.size() < PeekedText::kListed;
    if (text_.members_listed) text_.members.push_back({name, {begin, here()}, hint});
    return true;
  }

  bool word(std::string_view word) {
    for (const char c : word)
      if (!take(c)) return wrong("no value");
    return true;
  }

  bool digits() {
    const auto* const from = at_;
    while (is_digit(*at_)) ++at_;
    return at_ != from;
  }

  bool number() {
    const auto* const from = at_;
    const bool negative = take('-');
    if (!take('0') && !digits()) return wrong("no value");
    bool fraction = false, exponent = false;
    if (take('.')) {
      if (!digits()) return wrong("no digit");
      fraction = true;
    }
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return wrong("no digit");
      exponent = true;
    }
    constexpr std::ptrdiff_t kAnyInteger = 18, kAnyFraction = 300;  // this many characters always fit
    if (fraction || exponent) return (!exponent && at_ - from <= kAnyFraction) || is_finite(from);
    return at_ - from <= kAnyInteger || (negative ? fits<std::int64_t>(from) : fits<std::uint64_t>(from));
  }

  template <typename Number>
  bool fits(const char* from) {
    Number number = 0;
    return std::from_chars(from, at_, number).ec == std::errc() || wrong("the number is too large");
  }

  bool is_finite(const char* from) {
    double number = 0;
    if (std::from_chars(from, at_, number).ec == std::errc()) return true;
    number = std::strtod(std::string(from, at_).c_str(), nullptr);  // numbers that are too small become 0
    return std::isfinite(number) || wrong("the number is too large");
  }

  bool string() {
    ++at_;
    const auto* const inside = at_;
    at_ = plain_end(at_, end_);
    return take('"') || rest_of_string(inside);
  }

  // The rest of a string with an escape, or of an invalid one.
  bool rest_of_string(const char* inside) {
    auto& out = text_.unescaped;
    // Never reallocated: unescaped text is shorter. Unused memory isn't taken from the system.
    if (out.empty()) out.reserve(static_cast<std::size_t>(end_ - inside));
    const auto* from = inside;
    while (*at_ == '\\') {
      out.append(from, at_);
      if (!escape(out)) return wrong("no such escape");
      from = at_;
      at_ = plain_end(at_, end_);
    }
    if (*at_ != '"') return wrong(at_ == end_ ? "a '\"' is missing" : "a control character");
    out.append(from, at_);
    ++at_;
    text_.escaped.push_back({static_cast<std::uint32_t>(inside - begin_), static_cast<std::uint32_t>(out.size())});
    return true;
  }

  bool escape(std::string& out) {
    ++at_;
    if (take('u')) return unicode(out);
    static constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const auto named = kNames.find(*at_);
    if (named == std::string_view::npos) return false;
    ++at_;
    out.push_back(kMeant[named]);
    return true;
  }

  bool unicode(std::string& out) {
    std::uint32_t code = 0, low = 0;
    if (!four_digits(code)) return false;
    if (code >= 0xD800 && code < 0xE000) {
      if (code >= 0xDC00 || !take('\\') || !take('u') || !four_digits(low)) return false;
      if (low < 0xDC00 || low >= 0xE000) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(out, code);
    return true;
  }

  bool four_digits(std::uint32_t& code) {
    for (int i = 0; i < 4; ++i) {
      const auto digit = hex_digit(*at_);
      if (digit < 0) return false;
      code = code << 4 | static_cast<std::uint32_t>(digit);
      ++at_;
    }
    return true;
  }

  PeekedText& text_;
  const char* const begin_;
  const char* at_;
  const char* const end_;
  std::string_view reason_ = "no value";
};

}  // namespace

Result<> PeekedText::check() {
  longs.clear();
  node_count = 0;
  members.clear();
  escaped.clear();
  unescaped.clear();
  all_listed = members_listed = true;
  if (!simdjson::validate_utf8(data, size))
    return std::unexpected(explain_malformed(view(), "bytes that are no UTF-8"));
  Reader reader(*this);
  if (!reader.read()) return std::unexpected(explain_malformed(view(), reader.reason()));
  return {};
}

}  // namespace corral::json
