#include "json/peek.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "json/errors.h"
#include "json/peeked_text.h"

namespace corral::json {
namespace {

// Bytes that a thread keeps for its next text; more is freed.
constexpr std::size_t kKept = 128 * 1024;

std::unique_ptr<PeekedText>& spare() {
  thread_local std::unique_ptr<PeekedText> kept;
  return kept;
}

std::unique_ptr<PeekedText> spare_or_new() {
  auto text = std::move(spare());
  return text ? std::move(text) : std::make_unique<PeekedText>();
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

// --- the whole text ---

Peek::Peek(std::unique_ptr<PeekedText> text) : text_(std::move(text)) {}
Peek::Peek(Peek&&) noexcept = default;
Peek& Peek::operator=(Peek&& other) noexcept {
  std::swap(text_, other.text_);
  return *this;
}

Peek::~Peek() {
  if (!text_ || text_->held_bytes() + text_->unescaped.capacity() > kKept) return;
  std::string().swap(text_->own);
  spare() = std::move(text_);
}

Result<Peek> Peek::open(const std::string& text) { return open(Peek(spare_or_new()), text); }

Result<Peek> Peek::open(std::string&& text) {
  Peek peek(spare_or_new());
  peek.text_->own = std::move(text);
  const auto& own = peek.text_->own;
  return open(std::move(peek), own);
}

Result<Peek> Peek::open(Peek peek, const std::string& text) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max())
    return fail(errc::malformed, "not valid JSON: longer than 4 GiB, the maximum");
  peek.text_->data = text.c_str();
  peek.text_->size = static_cast<std::uint32_t>(text.size());
  if (auto fine = peek.text_->check(); !fine) return std::unexpected(std::move(fine.error()));
  return peek;
}

View Peek::root() const { return View(text_.get(), text_->root.begin, text_->root.end, 0); }

std::size_t Peek::held_bytes() const { return text_->held_bytes(); }

// --- one value ---

char View::first() const { return text_->data[begin_]; }

std::string_view View::raw() const { return text_->at({begin_, end_}); }

Kind View::kind() const {
  if (!found()) return Kind::null;
  switch (first()) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
      return Kind::null;
    default:
      break;
  }
  for (auto at = begin_; at < end_; ++at) {
    const char c = text_->data[at];
    if (c == '.' || c == 'e' || c == 'E') return Kind::number;
  }
  return Kind::integer;
}

bool View::as_bool() const { return found() && first() == 't'; }

std::string_view View::as_string() const {
  if (!found() || first() != '"') return {};
  return text_->string({begin_ + 1, end_ - 1});
}

double View::as_number() const {
  double number = 0;
  if (found()) std::from_chars(text_->data + begin_, text_->data + end_, number);  // an invalid one stays 0
  return number;
}

std::int64_t View::as_integer() const {
  if (!found()) return 0;
  std::int64_t number = 0;
  const auto* const end = text_->data + end_;
  const auto parsed = std::from_chars(text_->data + begin_, end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end) return number;
  const double approximate = as_number();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (approximate >= 9.2e18) return kMax;
  if (approximate <= -9.2e18) return kMin;
  return static_cast<std::int64_t>(approximate);
}

bool View::empty() const {
  if (!is_array() && !is_object()) return true;
  const char next = text_->data[text_->skip_space(begin_ + 1)];
  return next == ']' || next == '}';
}

std::size_t View::size() const {
  std::size_t count = 0;
  if (is_array()) each_element([&](View) { ++count; });
  if (is_object()) each_member([&](std::string_view, View) { ++count; });
  return count;
}

std::size_t View::values() const {
  if (!found()) return 0;
  if (text_->all_listed) return text_->nodes[hint_].next - hint_;
  std::size_t count = 1;
  for (auto at = begin_; at < end_; ++at) {
    switch (text_->data[at]) {
      case '"':
        at = text_->string_end(at) - 1;
        break;
      case ',':
        ++count;
        break;
      case '[':
      case '{': {
        const char next = text_->data[text_->skip_space(at + 1)];
        if (next != ']' && next != '}') ++count;
        break;
      }
      default:
        break;
    }
  }
  return count;
}

View View::find(std::string_view name) const {
  View last;
  if (!found() || first() != '{') return last;
  if (text_->all_listed) {
    const auto& nodes = text_->nodes;
    for (auto at = hint_ + 1; at < nodes[hint_].next; at = nodes[at].next) {
      const auto& node = nodes[at];
      if (text_->is(node.name, name)) last = View(text_, node.value.begin, node.value.end, at);
    }
    return last;
  }
  each_member([&](std::string_view member, View value) {
    if (member == name) last = value;
  });
  return last;
}

View::Cursor View::inside() const {
  if (text_->all_listed) {
    return {.text = text_, .at = hint_ + 1, .end = text_->nodes[hint_].next, .hint = 0, .by = By::nodes};
  }
  return {.text = text_, .at = text_->skip_space(begin_ + 1), .end = 0, .hint = hint_, .by = By::text};
}

View::Cursor View::elements() const { return found() && first() == '[' ? inside() : Cursor(); }

View::Cursor View::members() const {
  if (!found() || first() != '{') return {};
  if (!text_->all_listed && text_->members_listed && begin_ == text_->root.begin) {
    const auto count = static_cast<std::uint32_t>(text_->members.size());
    return {.text = text_, .at = 0, .end = count, .hint = 0, .by = By::members};
  }
  return inside();
}

bool View::next(Cursor& cursor, View& element) {
  const auto* const text = cursor.text;
  if (cursor.by == By::nodes) {
    if (cursor.at == cursor.end) return false;
    const auto& node = text->nodes[cursor.at];
    element = View(text, node.value.begin, node.value.end, cursor.at);
    cursor.at = node.next;
    return true;
  }
  if (!text || text->data[cursor.at] == ']') return false;
  const auto begin = cursor.at;
  const auto end = text->end_of(begin, cursor.hint);
  element = View(text, begin, end, cursor.hint);
  cursor.at = text->skip_space(end);
  if (text->data[cursor.at] == ',') cursor.at = text->skip_space(cursor.at + 1);
  return true;
}

bool View::next(Cursor& cursor, std::string_view& name, View& value) {
  const auto* const text = cursor.text;
  if (cursor.by == By::nodes) {
    if (cursor.at == cursor.end) return false;
    const auto& node = text->nodes[cursor.at];
    name = text->string(node.name);
    value = View(text, node.value.begin, node.value.end, cursor.at);
    cursor.at = node.next;
    return true;
  }
  if (cursor.by == By::members) {
    if (cursor.at == cursor.end) return false;
    const auto& member = text->members[cursor.at++];
    name = text->string(member.name);
    value = View(text, member.value.begin, member.value.end, member.hint);
    return true;
  }
  if (!text || text->data[cursor.at] == '}') return false;
  const auto behind = text->string_end(cursor.at);
  name = text->string({cursor.at + 1, behind - 1});
  cursor.at = text->skip_space(text->skip_space(behind) + 1);
  return next(cursor, value);
}

std::string View::text() const {
  if (!found()) return "null";
  std::string out;
  std::uint32_t from = begin_;  // not copied yet
  for (auto at = begin_; at < end_;) {
    if (text_->data[at] == '"') {
      at = text_->string_end(at);
    } else if (is_space(text_->data[at])) {
      out += text_->at({from, at});
      from = at = text_->skip_space(at);
    } else {
      ++at;
    }
  }
  return out += text_->at({from, end_});
}

std::string View::excerpt() const {
  constexpr std::size_t kShown = 60;
  if (is_array()) return "an array";
  if (is_object()) return "an object";
  if (!found()) return "null";
  const auto shown = raw();
  if (shown.size() <= kShown) return std::string(shown);
  std::size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;  // don't cut a character
  return std::string(shown.substr(0, end)) + "…";
}

std::string_view describe(Kind kind) {
  static constexpr std::string_view kNames[] = {"null",     "a boolean", "an integer", "a number",
                                                "a string", "an array",  "an object"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace corral::json
