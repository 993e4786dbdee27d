#include "json/peeked_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace corral::json {
namespace {

constexpr auto kSpecial = [] {
  std::array<bool, 256> special{};
  for (std::size_t c = 0; c < 0x20; ++c) special[c] = true;
  special['"'] = special['\\'] = true;
  return special;
}();

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Whether a number or word ends here.
bool is_end(char c) { return c == ',' || c == ']' || c == '}' || c == '\0' || is_space(c); }

}  // namespace

const char* plain_end(const char* at, const char* end) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = kOnes << 7;
  const auto zeros = [](std::uint64_t word) { return (word - kOnes) & ~word; };
  for (; end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    // The lowest set bit marks the first such byte; higher bits may be wrong.
    const auto controls = (word - kOnes * 0x20) & ~word;
    const auto found = (zeros(word ^ kOnes * '"') | zeros(word ^ kOnes * '\\') | controls) & kHighs;
    if (found) return at + std::countr_zero(found) / 8;
  }
  while (at != end && !kSpecial[static_cast<unsigned char>(*at)]) ++at;
  return at;
}

std::uint32_t PeekedText::skip_space(std::uint32_t at) const {
  while (is_space(data[at])) ++at;
  return at;
}

std::uint32_t PeekedText::string_end(std::uint32_t at) const {
  const char* const end = data + size;
  const char* here = plain_end(data + at + 1, end);
  while (*here != '"') here = plain_end(here + 2, end);  // a backslash and what it escapes
  return static_cast<std::uint32_t>(here + 1 - data);
}

std::uint32_t PeekedText::end_of(std::uint32_t at, std::uint32_t& hint) const {
  const auto before = [&](const Span& one) { return one.begin < at; };
  if (hint < longs.size() && before(longs[hint])) {
    // Usually near the hint.
    std::size_t step = 1;
    while (hint + step < longs.size() && before(longs[hint + step])) step *= 2;
    const auto from = longs.begin() + std::ptrdiff_t(hint + step / 2);
    const auto to = longs.begin() + std::ptrdiff_t(std::min(hint + step, longs.size()));
    hint = static_cast<std::uint32_t>(std::partition_point(from, to, before) - longs.begin());
  }
  if (hint < longs.size() && longs[hint].begin == at) return longs[hint].end;
  const char first = data[at];
  if (first == '"') return string_end(at);
  if (first != '[' && first != '{') {
    while (!is_end(data[at])) ++at;
    return at;
  }
  for (std::size_t depth = 0;; ++at) {
    switch (data[at]) {
      case '"':
        at = string_end(at) - 1;
        break;
      case '[':
      case '{':
        ++depth;
        break;
      case ']':
      case '}':
        if (--depth == 0) return at + 1;
        break;
      default:
        break;
    }
  }
}

std::string_view PeekedText::unescaped_string(Span inside) const {
  const auto text = at(inside);
  if (text.find('\\') == std::string_view::npos) return text;
  const auto found = std::ranges::lower_bound(escaped, inside.begin, {}, &Escaped::begin);
  const auto from = found == escaped.begin() ? 0 : std::prev(found)->end;
  return std::string_view(unescaped).substr(from, found->end - from);
}

std::size_t PeekedText::held_bytes() const {
  return longs.capacity() * sizeof(Span) + members.capacity() * sizeof(Member) + escaped.capacity() * sizeof(Escaped) +
         unescaped.size();
}

}  // namespace corral::json
