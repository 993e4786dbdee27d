#include "json/peek.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <simdjson.h>

#include "json/errors.h"
#include "json/value.h"

namespace corral::json {
namespace {

namespace dom = simdjson::dom;

// Parsers keep their buffers (about 14 bytes for each byte of the longest text so far): a few are kept for the next
// text, big ones are given back.
constexpr std::size_t kKeptCapacity = 128 * 1024;

template <typename To, typename From>
To handle_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To>);
  return std::bit_cast<To>(from);
}

std::string_view to_std(std::string_view text) { return text; }

}  // namespace

struct Peek::Parser {
  dom::parser parser;
};

namespace {

template <typename Parser>
std::unique_ptr<Parser>& spare() {
  thread_local std::unique_ptr<Parser> kept;
  return kept;
}

}  // namespace

Peek::Peek(std::unique_ptr<Parser> parser) : parser_(std::move(parser)) {}
Peek::Peek(Peek&&) noexcept = default;
Peek& Peek::operator=(Peek&& other) noexcept {
  std::swap(parser_, other.parser_);
  std::swap(root_, other.root_);
  return *this;
}

Peek::~Peek() {
  if (parser_ && parser_->parser.capacity() <= kKeptCapacity) spare<Parser>() = std::move(parser_);
}

Result<Peek> Peek::open(const std::string& text) {
  auto parser = std::move(spare<Parser>());
  if (!parser) {
    parser = std::make_unique<Parser>();
    if (parser->parser.allocate(4096, kMaxDepth)) throw std::bad_alloc();
  }
  Peek peek(std::move(parser));
  static_assert(kMargin >= simdjson::SIMDJSON_PADDING);
  const bool copy = text.capacity() - text.size() < simdjson::SIMDJSON_PADDING;
  dom::element root;
  const auto error = peek.parser_->parser.parse(text.data(), text.size(), copy).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error) return std::unexpected(explain_malformed(text, simdjson::error_message(error)));
  peek.root_.words_ = handle_cast<View::Words>(root);
  return peek;
}

Kind View::kind() const {
  if (!found()) return Kind::null;
  switch (handle_cast<dom::element>(words_).type()) {
    case dom::element_type::ARRAY:
      return Kind::array;
    case dom::element_type::OBJECT:
      return Kind::object;
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
      return Kind::integer;
    case dom::element_type::DOUBLE:
      return Kind::number;
    case dom::element_type::STRING:
      return Kind::string;
    case dom::element_type::BOOL:
      return Kind::boolean;
    case dom::element_type::NULL_VALUE:
      break;
  }
  return Kind::null;
}

bool View::as_bool() const { return found() && handle_cast<dom::element>(words_).get_bool().value_unsafe(); }

std::string_view View::as_string() const {
  if (kind() != Kind::string) return {};
  return to_std(handle_cast<dom::element>(words_).get_string().value_unsafe());
}

double View::as_number() const {
  double number = 0;
  if (!found() || handle_cast<dom::element>(words_).get_double().get(number)) return 0;
  return number;
}

std::int64_t View::as_integer() const {
  if (!found()) return 0;
  std::int64_t number = 0;
  const auto element = handle_cast<dom::element>(words_);
  if (!element.get_int64().get(number)) return number;
  const double approximate = as_number();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (approximate >= 9.2e18) return kMax;
  if (approximate <= -9.2e18) return kMin;
  return static_cast<std::int64_t>(approximate);
}

std::size_t View::size() const {
  std::size_t count = 0;
  switch (kind()) {
    // The size field of the tape saturates at 2^24 - 1; only then it is counted.
    case Kind::array:
      count = handle_cast<dom::element>(words_).get_array().value_unsafe().size();
      break;
    case Kind::object:
      count = handle_cast<dom::element>(words_).get_object().value_unsafe().size();
      break;
    default:
      return 0;
  }
  if (count < 0xFFFFFF) return count;
  count = 0;
  if (is_array()) each_element([&](View) { ++count; });
  if (is_object()) each_member([&](std::string_view, View) { ++count; });
  return count;
}

View View::find(std::string_view name) const {
  View last;
  each_member([&](std::string_view member, View value) {
    if (member == name) last = value;
  });
  return last;
}

View::Cursor View::elements() const {
  if (kind() != Kind::array) return {};
  const auto array = handle_cast<dom::element>(words_).get_array().value_unsafe();
  return {handle_cast<Words>(array.begin()), handle_cast<Words>(array.end())};
}

View::Cursor View::members() const {
  if (kind() != Kind::object) return {};
  const auto object = handle_cast<dom::element>(words_).get_object().value_unsafe();
  return {handle_cast<Words>(object.begin()), handle_cast<Words>(object.end())};
}

bool View::next(Cursor& cursor, View& element) {
  if (cursor.at.index == cursor.end.index) return false;
  auto at = handle_cast<dom::array::iterator>(cursor.at);
  element.words_ = handle_cast<Words>(*at);
  ++at;
  cursor.at = handle_cast<Words>(at);
  return true;
}

bool View::next(Cursor& cursor, std::string_view& name, View& value) {
  if (cursor.at.index == cursor.end.index) return false;
  auto at = handle_cast<dom::object::iterator>(cursor.at);
  name = to_std(at.key());
  value.words_ = handle_cast<Words>(at.value());
  ++at;
  cursor.at = handle_cast<Words>(at);
  return true;
}

std::string View::text() const { return found() ? simdjson::minify(handle_cast<dom::element>(words_)) : "null"; }

std::string View::excerpt() const {
  constexpr std::size_t kShown = 60;
  switch (kind()) {
    case Kind::array:
      return "an array";
    case Kind::object:
      return "an object";
    default:
      break;
  }
  auto shown = text();
  if (shown.size() <= kShown) return shown;
  std::size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;  // don't cut a character
  shown.resize(end);
  return shown + "…";
}

std::string_view describe(Kind kind) {
  static constexpr std::string_view kNames[] = {"null",     "a boolean", "an integer", "a number",
                                                "a string", "an array",  "an object"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace corral::json
