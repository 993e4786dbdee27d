// Reads a JSON text without building a tree: one pass checks the whole text (validity, UTF-8, depth), then any member
// can be read in place. In addition to the text it keeps only the ends of long values, the places of the outermost
// members, and unescaped strings.
//
// A Peek may move between threads, but only one uses it at a time. Views are valid as long as their Peek and its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace corral::json {

enum class Kind : std::uint8_t { null, boolean, integer, number, string, array, object };
// "null", "a boolean", "an integer", ...
std::string_view describe(Kind kind);

struct PeekedText;

// One value of the text. A plain value, cheap to copy.
class View {
 public:
  View() = default;

  // integer: a whole number written without fraction and exponent that fits 64 bits; number: any other number.
  Kind kind() const;
  bool is_null() const { return !found() || first() == 'n'; }
  bool is_string() const { return found() && first() == '"'; }
  bool is_array() const { return found() && first() == '['; }
  bool is_object() const { return found() && first() == '{'; }

  // Only for their kind (as_number takes integers too); other kinds give an empty value.
  bool as_bool() const;
  std::string_view as_string() const;  // unescaped; valid UTF-8
  double as_number() const;
  // Clamped to the range of the type; fractions are cut off.
  std::int64_t as_integer() const;

  // Elements of an array, members of an object; counted each time.
  std::size_t size() const;
  bool empty() const;
  // The member of that name (the last one of several), or an empty View: see found().
  View find(std::string_view name) const;
  bool found() const { return text_ != nullptr; }

  // visit(View element) / visit(std::string_view name, View value); a visitor that returns bool stops with false.
  template <typename Visit>
  void each_element(Visit&& visit) const {
    Cursor cursor = elements();
    for (View element; next(cursor, element);) {
      if constexpr (std::is_same_v<decltype(visit(element)), bool>) {
        if (!visit(element)) return;
      } else {
        visit(element);
      }
    }
  }
  template <typename Visit>
  void each_member(Visit&& visit) const {
    Cursor cursor = members();
    std::string_view name;
    for (View value; next(cursor, name, value);) {
      if constexpr (std::is_same_v<decltype(visit(name, value)), bool>) {
        if (!visit(name, value)) return;
      } else {
        visit(name, value);
      }
    }
  }

  // Size of its text, including inner values.
  std::size_t bytes() const { return end_ - begin_; }
  // Number of values inside it, at any depth, including itself.
  std::size_t values() const;
  // The value as JSON text without spaces between its parts, otherwise unchanged.
  std::string text() const;
  // For messages: the text, cut after some 60 bytes.
  std::string excerpt() const;

 private:
  friend class Peek;
  View(const PeekedText* text, std::uint32_t begin, std::uint32_t end, std::uint32_t hint)
      : text_(text), begin_(begin), end_(end), hint_(hint) {}
  enum class By : std::uint8_t { text, members, nodes };  // how a cursor advances; see PeekedText
  struct Cursor {
    const PeekedText* text = nullptr;
    std::uint32_t at = 0;   // in the text, or the number of the next member or node
    std::uint32_t end = 0;  // by nodes: the number after the last
    std::uint32_t hint = 0;
    By by = By::text;
  };
  Cursor elements() const;
  Cursor members() const;
  static bool next(Cursor& cursor, View& element);
  static bool next(Cursor& cursor, std::string_view& name, View& value);
  Cursor inside() const;
  std::string_view raw() const;
  char first() const;

  const PeekedText* text_ = nullptr;
  std::uint32_t begin_ = 0, end_ = 0;  // in the text
  std::uint32_t hint_ = 0;             // number of its node, else of the first long value not before it
};

class Peek {
 public:
  // `text` must outlive the Peek unchanged. Errors: malformed, with the byte offset.
  static Result<Peek> open(const std::string& text);
  // Keeps the text.
  static Result<Peek> open(std::string&& text);

  Peek(Peek&&) noexcept;
  Peek& operator=(Peek&&) noexcept;
  ~Peek();

  View root() const;
  // Memory in addition to the text.
  std::size_t held_bytes() const;

 private:
  explicit Peek(std::unique_ptr<PeekedText> text);
  static Result<Peek> open(Peek peek, const std::string& text);

  std::unique_ptr<PeekedText> text_;
};

}  // namespace corral::json
