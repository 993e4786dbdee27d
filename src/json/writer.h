// Writes JSON directly into a text, for frequent output. The writer adds commas; the caller nests correctly: every
// begin needs its end, every value in an object its key.
//
//   std::string out;
//   json::Writer json(out);
//   json.begin_object().field("model", name).key("data").begin_array().value(1).end_array().end_object();
//
// Invalid UTF-8 bytes become U+FFFD; infinities and NaN become null.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace corral::json {

// Appends `text` between quotation marks, escaped.
void append_quoted(std::string& out, std::string_view text);
// Appends `text` escaped, without the quotation marks.
void append_escaped(std::string& out, std::string_view text);
// Whether the text is valid UTF-8, so that it is written unchanged.
bool is_utf8(std::string_view text);

class Writer {
 public:
  // Appends to `out`, which must outlive the writer.
  explicit Writer(std::string& out) : out_(out) {}

  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }

  // `name` must need no escaping.
  Writer& key(std::string_view name) {
    if (comma_) out_.push_back(',');
    out_.push_back('"');
    out_.append(name).append("\":");
    comma_ = false;
    return *this;
  }

  // A name that may need escaping.
  Writer& any_key(std::string_view name) {
    if (comma_) out_.push_back(',');
    append_quoted(out_, name);
    out_.push_back(':');
    comma_ = false;
    return *this;
  }

  Writer& value(std::string_view text) {
    separate();
    append_quoted(out_, text);
    return *this;
  }
  Writer& value(const std::string& text) { return value(std::string_view(text)); }
  Writer& value(const char* text) { return value(std::string_view(text)); }
  Writer& value(std::same_as<bool> auto flag) { return raw(flag ? "true" : "false"); }
  Writer& value(std::integral auto number)
    requires(!std::same_as<decltype(number), bool>)
  {
    return digits(number);
  }
  // The fewest digits that parse to the same number of the same type, as a plain decimal unless that is mostly zeros.
  Writer& value(std::floating_point auto number) {
    if (!std::isfinite(number)) return null();
    const auto size = std::abs(number);
    const bool plain = size == 0 || (size >= 1e-6 && size < 1e15);
    return digits(number, plain ? std::chars_format::fixed : std::chars_format::scientific);
  }
  Writer& null() { return raw("null"); }
  // A value that is already JSON.
  Writer& raw(std::string_view json) {
    separate();
    out_.append(json);
    return *this;
  }

  template <typename T>
  Writer& field(std::string_view name, T&& what) {
    return key(name).value(std::forward<T>(what));
  }

 private:
  Writer& open(char bracket) {
    separate();
    out_.push_back(bracket);
    comma_ = false;
    return *this;
  }
  Writer& close(char bracket) {
    out_.push_back(bracket);
    comma_ = true;
    return *this;
  }
  void separate() {
    if (comma_) out_.push_back(',');
    comma_ = true;
  }
  Writer& digits(auto number, auto... format) {
    separate();
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, format...).ptr;
    out_.append(buffer, end);
    return *this;
  }

  std::string& out_;
  bool comma_ = false;  // a value precedes the next one
};

}  // namespace corral::json
