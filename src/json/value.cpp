#include "json/value.h"

#include <cmath>
#include <optional>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parser.hpp>
#include <fmt/format.h>

#include "json/errors.h"
#include "json/writer.h"

namespace corral::json {
namespace {

constexpr std::size_t kShownPath = 128;

boost::json::parse_options options() {
  boost::json::parse_options chosen;
  chosen.max_depth = kMaxDepth;
  return chosen;
}

// Ignores every event of the parser: to find the place of an error.
struct Nothing {
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);
  using Code = boost::json::error_code;
  using Text = boost::json::string_view;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(std::size_t, Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t, Code&) { return true; }
  bool on_key_part(Text, std::size_t, Code&) { return true; }
  bool on_key(Text, std::size_t, Code&) { return true; }
  bool on_string_part(Text, std::size_t, Code&) { return true; }
  bool on_string(Text, std::size_t, Code&) { return true; }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(std::int64_t, Text, Code&) { return true; }
  bool on_uint64(std::uint64_t, Text, Code&) { return true; }
  bool on_double(double, Text, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }
};

void write(Writer& out, const Value& value);

// A whole fraction stays a fraction.
void write(Writer& out, double number) {
  std::string text;
  Writer(text).value(number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  out.raw(text);
}

void write(Writer& out, const Object& object) {
  out.begin_object();
  for (const auto& [name, value] : object) write(out.any_key(name), value);
  out.end_object();
}

void write(Writer& out, const Array& array) {
  out.begin_array();
  for (const auto& value : array) write(out, value);
  out.end_array();
}

void write(Writer& out, const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::object:
      return write(out, value.get_object());
    case boost::json::kind::array:
      return write(out, value.get_array());
    case boost::json::kind::string:
      return void(out.value(std::string_view(value.get_string())));
    case boost::json::kind::double_:
      return write(out, value.get_double());
    case boost::json::kind::int64:
      return void(out.value(value.get_int64()));
    case boost::json::kind::uint64:
      return void(out.value(value.get_uint64()));
    case boost::json::kind::bool_:
      return void(out.value(value.get_bool()));
    case boost::json::kind::null:
      return void(out.null());
  }
}

// The place of a number that became NaN or infinite ("0e4740", "1e400"): ".a.b[2]", empty for the value itself.
std::optional<std::string> bad_number(const Value& value) {
  if (const auto* number = value.if_double())
    return std::isfinite(*number) ? std::nullopt : std::optional<std::string>("");
  if (const auto* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (auto below = bad_number((*list)[i])) return fmt::format("[{}]{}", i, *below);
    }
  }
  if (const auto* object = value.if_object()) {
    for (const auto& [name, member] : *object) {
      if (auto below = bad_number(member)) return fmt::format(".{}{}", std::string_view(name), *below);
    }
  }
  return std::nullopt;
}

Error bad_number_at(std::string_view where) {
  where = where.substr(where.starts_with('.') ? 1 : 0, kShownPath);
  return {make_error_code(errc::bad_number),
          fmt::format("the number {}can't be read: it is beyond 1.79e308, or has an exponent that is; write it shorter",
                      where.empty() ? std::string() : fmt::format("at '{}' ", where)),
          std::string(where)};
}

Error malformed(std::size_t offset, std::string_view reason) {
  return {make_error_code(errc::malformed), fmt::format("not valid JSON: {} at byte {}", reason, offset)};
}

}  // namespace

Error explain_malformed(std::string_view text, std::string_view fallback) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return {make_error_code(errc::malformed), "not valid JSON: the text is empty"};
  }
  boost::json::basic_parser<Nothing> parser(options());
  boost::json::error_code error;
  const auto used = parser.write_some(false, text.data(), text.size(), error);
  if (error) return malformed(used, error.message());
  if (used < text.size()) return malformed(used, "extra data");
  return {make_error_code(errc::malformed), fmt::format("not valid JSON: {}", fallback)};
}

Result<Value> parse(std::string_view text) {
  boost::json::parser parser({}, options());
  boost::json::error_code error;
  parser.write(text.data(), text.size(), error);
  if (error) return std::unexpected(explain_malformed(text, error.message()));
  auto value = parser.release();
  if (const auto where = bad_number(value)) return std::unexpected(bad_number_at(*where));
  return value;
}

std::string serialize(const Value& value) {
  std::string text;
  Writer out(text);
  write(out, value);
  return text;
}

const Value* find(const Value& object, std::string_view name) {
  const auto* members = object.if_object();
  return members ? members->if_contains(boost::json::string_view(name.data(), name.size())) : nullptr;
}

std::string_view text_or(const Value& object, std::string_view name, std::string_view otherwise) {
  const auto* member = find(object, name);
  const auto* text = member ? member->if_string() : nullptr;
  return text ? std::string_view(text->data(), text->size()) : otherwise;
}

double number_or(const Value& object, std::string_view name, double otherwise) {
  const auto* member = find(object, name);
  return member && member->is_number() ? member->to_number<double>() : otherwise;
}

bool bool_or(const Value& object, std::string_view name, bool otherwise) {
  const auto* member = find(object, name);
  const auto* flag = member ? member->if_bool() : nullptr;
  return flag ? *flag : otherwise;
}

}  // namespace corral::json
