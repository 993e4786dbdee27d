// Regular languages: sets of texts, built from characters by concatenation, repetition, and set operations (union,
// intersection, complement). Derivatives in the sense of Brzozowski ("Derivatives of Regular Expressions", 1964) are
// the continuations after a character, so intersections of patterns and lengths need no further algorithms.
//
// A Languages owns all expressions of one conversion; equal expressions have equal numbers. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "json_schema/char_set.h"

namespace corral::json_schema {

// The number of an expression.
using Language = std::uint32_t;

// Thrown: too many expressions, too large ones, or too many derivatives.
struct TooComplex {};

class Languages {
 public:
  static constexpr std::uint32_t kUnbounded = 0xFFFFFFFF;

  Languages();

  Language none() const { return kNone; }    // no text
  Language empty() const { return kEmpty; }  // the text without characters
  Language all() const { return all_; }      // every text
  Language set(CharSet characters);
  Language text(std::u32string_view characters);
  Language concat(Language first, Language second);
  Language either(Language one, Language other);
  Language either(std::vector<Language> all);
  Language both(Language one, Language other);
  Language complement(Language of);
  Language repeat(Language of, std::uint32_t min, std::uint32_t max);
  // Digits that are a multiple of `divisor` (at least 1), read after digits that left `remainder`. Points are skipped.
  Language multiple(std::uint32_t divisor, std::uint32_t remainder = 0);

  // Languages of patterns (pattern.h), so that each is compiled once; nothing: too complex.
  std::map<std::string, std::optional<Language>, std::less<>>& patterns() { return patterns_; }

  // Whether the empty text belongs to it.
  bool has_empty(Language of) const { return nodes_[of].nullable; }
  // The continuations after this character. Throws TooComplex.
  Language derivative(Language of, char32_t character);
  bool contains(Language language, std::u32string_view text);
  // Sets of characters that are equivalent for this expression and its derivatives; together all characters.
  std::vector<CharSet> classes(Language of);
  // Counts work for schemas beside patterns: about 100 ns each. All schemas of a grammar share one limit. Throws
  // TooComplex.
  void spend(std::size_t work);

 private:
  enum class Kind : std::uint8_t { none, empty, set, concat, either, both, complement, repeat, multiple };
  struct Node {
    Kind kind;
    bool nullable;
    std::vector<Language> parts;
    std::uint32_t min = 0, max = 0;  // `set`: its number; `multiple`: remainder and divisor
    auto key() const { return std::tie(kind, parts, min, max); }
    bool operator==(const Node& other) const { return key() == other.key(); }
  };
  struct NodeHash {
    std::size_t operator()(const Node& node) const;
  };
  static constexpr Language kNone = 0, kEmpty = 1;

  Language add(Node node);
  Language combine(Kind kind, const std::vector<Language>& all);
  Language derive(Language of, char32_t character);

  std::vector<Node> nodes_;
  std::size_t parts_ = 0;    // of all nodes
  std::size_t lookups_ = 0;  // of derivatives
  std::size_t work_ = 0;
  std::unordered_map<Node, Language, NodeHash> ids_;
  std::vector<CharSet> sets_;
  std::map<CharSet, std::uint32_t> set_ids_;
  std::unordered_map<std::uint64_t, Language> derivatives_;
  std::map<std::string, std::optional<Language>, std::less<>> patterns_;
  Language all_ = 0;
};

}  // namespace corral::json_schema
