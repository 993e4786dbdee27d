// Sets of characters (Unicode code points). A plain value.
#pragma once

#include <compare>
#include <string_view>
#include <utility>
#include <vector>

namespace corral::json_schema {

inline constexpr char32_t kLastCharacter = 0x10FFFF;

class CharSet {
 public:
  using Range = std::pair<char32_t, char32_t>;  // both ends included

  CharSet() = default;  // no character
  // Ranges may overlap, in any order.
  explicit CharSet(std::vector<Range> ranges);
  static CharSet all() { return CharSet({{0, kLastCharacter}}); }
  static CharSet one(char32_t c) { return CharSet({{c, c}}); }
  // The characters of an ASCII text.
  static CharSet of(std::string_view characters);

  const std::vector<Range>& ranges() const { return ranges_; }  // sorted, disjoint
  bool empty() const { return ranges_.empty(); }
  bool contains(char32_t c) const;

  CharSet operator|(const CharSet& other) const;
  CharSet operator&(const CharSet& other) const;
  CharSet operator~() const;
  auto operator<=>(const CharSet&) const = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace corral::json_schema
