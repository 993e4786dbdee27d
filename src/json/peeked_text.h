// A checked JSON text and the recorded facts about it. Internal to json/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::json {

// The first quote, backslash or control character at or after `at`; `end` if there is none.
const char* plain_end(const char* at, const char* end);

struct PeekedText {
  // The ends of values of at least this size are recorded; shorter values are read again to find their ends.
  static constexpr std::size_t kLong = 128;
  // If a text has at most this many values, all are recorded and none is read twice. Of a larger text only the members
  // of its outermost object are recorded, if they are no more than this.
  static constexpr std::size_t kListed = 512;

  struct Span {
    std::uint32_t begin = 0, end = 0;
  };
  struct Node {
    Span name;  // of a member, between its quotes
    Span value;
    std::uint32_t next = 0;  // number of the first node after it and its inner values
  };
  struct Member {
    Span name, value;
    std::uint32_t hint = 0;
  };
  struct Escaped {
    std::uint32_t begin;  // of a string with escapes, after its quote
    std::uint32_t end;    // of its unescaped text in `unescaped`, where the text of the next one begins
  };

  // Reads the whole text once and fills the members below. Errors: malformed.
  Result<> check();

  std::string_view view() const { return {data, size}; }
  std::string_view at(Span span) const { return {data + span.begin, span.end - span.begin}; }
  // The first non-space character at or after `at`.
  std::uint32_t skip_space(std::uint32_t at) const;
  // The place after the string with its opening quote at `at`.
  std::uint32_t string_end(std::uint32_t at) const;
  // The place after the value that begins at `at`. `hint`: the number of a long value that begins at or before `at` (0
  // is valid); it becomes the number of the first one that doesn't begin before `at`.
  std::uint32_t end_of(std::uint32_t at, std::uint32_t& hint) const;
  // The text of a string, without its escapes. `inside`: between its quotes.
  std::string_view string(Span inside) const { return escaped.empty() ? at(inside) : unescaped_string(inside); }
  bool is(Span inside, std::string_view wanted) const {
    if (!escaped.empty()) return string(inside) == wanted;
    return inside.end - inside.begin == wanted.size() &&
           std::memcmp(data + inside.begin, wanted.data(), wanted.size()) == 0;
  }
  std::string_view unescaped_string(Span inside) const;
  std::size_t held_bytes() const;

  std::string own;
  const char* data = nullptr;  // ends with a 0, as texts of std::string do
  std::uint32_t size = 0;
  Span root;
  std::vector<Span> longs;          // by their begins
  std::array<Node, kListed> nodes;  // in the order of the text; the first one is the root
  std::uint32_t node_count = 0;
  bool all_listed = false;       // `nodes` has all values, and `members` none
  std::vector<Member> members;   // of the outermost object
  bool members_listed = false;   // `members` has all of them
  std::vector<Escaped> escaped;  // by their begins
  std::string unescaped;         // texts of `escaped`, one after the other
};

}  // namespace corral::json
