// Looks into a JSON text without building a tree of it: the whole text is checked in one pass (validity, UTF-8, depth),
// then any member can be read where it stands. About 0.5 µs for a chat request of 300 bytes, 1 ms a megabyte at most.
//
// A Peek may move between threads but is used by one at a time. Views are valid as long as their Peek.
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

// One value of the text. A plain value, cheap to copy.
class View {
 public:
  View() = default;

  // integer: a whole number written without fraction and exponent that fits 64 bits; number: any other number.
  Kind kind() const;
  bool is_null() const { return kind() == Kind::null; }
  bool is_string() const { return kind() == Kind::string; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_object() const { return kind() == Kind::object; }

  // Only for the kind they name (as_number takes integers too); anything else gives an empty value.
  bool as_bool() const;
  std::string_view as_string() const;  // unescaped; valid UTF-8
  double as_number() const;
  // Clamped to the range of the type; fractions are cut off.
  std::int64_t as_integer() const;

  // Elements of an array, members of an object.
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  // The member of that name (the last one, should there be several), or an empty optional's worth: see found().
  View find(std::string_view name) const;
  bool found() const { return words_.document != nullptr; }

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

  // The value as JSON text on one line.
  std::string text() const;
  // For messages to people: the text, cut after some 60 bytes.
  std::string excerpt() const;

 private:
  friend class Peek;
  struct Words {  // the library's own handle, hidden from includers
    const void* document = nullptr;
    std::size_t index = 0;
  };
  struct Cursor {
    Words at, end;
  };
  Cursor elements() const;
  Cursor members() const;
  static bool next(Cursor& cursor, View& element);
  static bool next(Cursor& cursor, std::string_view& name, View& value);

  Words words_;
};

class Peek {
 public:
  // Doesn't copy `text` if its capacity exceeds its size by kMargin bytes; `text` is not needed afterwards.
  // Errors: malformed, naming the byte offset.
  static Result<Peek> open(const std::string& text);
  static constexpr std::size_t kMargin = 64;

  Peek(Peek&&) noexcept;
  Peek& operator=(Peek&&) noexcept;
  ~Peek();

  View root() const { return root_; }

 private:
  struct Parser;
  explicit Peek(std::unique_ptr<Parser> parser);

  std::unique_ptr<Parser> parser_;
  View root_;
};

}  // namespace corral::json
