#include "backends/external/yaml_reader.h"

#include <charconv>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <yaml.h>

#include "backends/external/errors.h"

namespace corral::backends {
namespace {

constexpr std::size_t kLargestText = 1 << 20;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = 100'000;
constexpr std::size_t kMaxCopied = 16 << 20;  // bytes of texts
constexpr std::string_view kMerge = "<<";

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }
  yaml_event_t* get() { return &event_; }
  yaml_event_type_t type() const { return event_.type; }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_{};
};

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
}

template <typename Number>
std::optional<Number> whole(std::string_view text, int base) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

json::Value plain(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  if (digits.starts_with("0x"))
    if (const auto number = whole<std::int64_t>(digits.substr(2), 16)) return *number;
  if (digits.starts_with("0o"))
    if (const auto number = whole<std::int64_t>(digits.substr(2), 8)) return *number;
  if (const auto number = whole<std::int64_t>(digits, 10)) return *number;
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = digits.find_first_not_of("+-.eE0123456789") == digits.npos;
  if (is_number && error == std::errc() && end == digits.data() + digits.size()) return number;
  return json::Value(text);
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : name_(name) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  Result<json::Value> read() {
    while (true) {
      Event event;
      if (auto next = take(event); !next) return std::unexpected(next.error());
      if (event.type() == YAML_STREAM_END_EVENT) return json::Value(nullptr);
      if (event.type() != YAML_STREAM_START_EVENT && event.type() != YAML_DOCUMENT_START_EVENT) return value(event, 0);
    }
  }

 private:
  std::unexpected<Error> wrong(const yaml_mark_t& at, std::string_view what) const {
    return fail(external::errc::bad_descriptor,
                fmt::format("{}:{}:{}: not valid YAML: {}", name_, at.line + 1, at.column + 1, what));
  }

  Result<> take(Event& event) {
    if (yaml_parser_parse(&parser_, event.get()) != 0) return {};
    return wrong(parser_.problem_mark, parser_.problem == nullptr ? "it can't be read" : parser_.problem);
  }

  // The copies for aliases count, too: a small text could stand for a huge value.
  Result<> count(const json::Value& value, const yaml_mark_t& at) {
    values_ += 1;
    if (values_ > kMaxValues) return wrong(at, fmt::format("it has more than {} values", kMaxValues));
    if (const auto* text = value.if_string()) copied_ += text->size();
    if (copied_ > kMaxCopied) return wrong(at, "the texts of its aliases have more than 16 MiB");
    if (const auto* array = value.if_array())
      for (const auto& element : *array)
        if (auto fine = count(element, at); !fine) return fine;
    if (const auto* object = value.if_object())
      for (const auto& [key, member] : *object)
        if (auto fine = count(member, at); !fine) return fine;
    return {};
  }

  Result<json::Value> value(const Event& event, std::size_t depth) {
    const auto at = event->start_mark;
    if (depth > kMaxDepth) return wrong(at, fmt::format("it is deeper than {} levels", kMaxDepth));
    if (event.type() == YAML_ALIAS_EVENT) {
      const auto known = anchors_.find(text_of(event->data.alias.anchor));
      if (known == anchors_.end()) return wrong(at, "unknown alias");
      if (auto fine = count(known->second, at); !fine) return std::unexpected(fine.error());
      return known->second;
    }
    if (++values_ > kMaxValues) return wrong(at, fmt::format("it has more than {} values", kMaxValues));
    std::string anchor;
    auto read = [&]() -> Result<json::Value> {
      if (event.type() == YAML_SCALAR_EVENT) {
        const auto& scalar = event->data.scalar;
        anchor = text_of(scalar.anchor);
        const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
        const bool is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.plain_implicit != 0;
        return is_plain ? plain(text) : json::Value(text);
      }
      if (event.type() == YAML_SEQUENCE_START_EVENT) {
        anchor = text_of(event->data.sequence_start.anchor);
        return sequence(depth);
      }
      if (event.type() != YAML_MAPPING_START_EVENT) return wrong(at, "a value is missing");
      anchor = text_of(event->data.mapping_start.anchor);
      return mapping(depth);
    }();
    if (!read || anchor.empty()) return read;
    if (auto fine = count(*read, at); !fine) return std::unexpected(fine.error());
    anchors_[anchor] = *read;
    return read;
  }

  Result<json::Value> sequence(std::size_t depth) {
    json::Array array;
    while (true) {
      Event event;
      if (auto next = take(event); !next) return std::unexpected(next.error());
      if (event.type() == YAML_SEQUENCE_END_EVENT) return json::Value(std::move(array));
      auto element = value(event, depth + 1);
      if (!element) return element;
      array.push_back(std::move(*element));
    }
  }

  Result<json::Value> mapping(std::size_t depth) {
    json::Object object, merged;
    while (true) {
      Event event;
      if (auto next = take(event); !next) return std::unexpected(next.error());
      if (event.type() == YAML_MAPPING_END_EVENT) break;
      const auto at = event->start_mark;
      if (event.type() != YAML_SCALAR_EVENT) return wrong(at, "a key must be a text");
      const std::string key(reinterpret_cast<const char*>(event->data.scalar.value), event->data.scalar.length);
      Event behind;
      if (auto next = take(behind); !next) return std::unexpected(next.error());
      auto member = value(behind, depth + 1);
      if (!member) return member;
      if (key == kMerge) {
        if (!merge(*member, merged)) return wrong(at, "<< needs a map, or a list of maps");
      } else if (!object.emplace(key, std::move(*member)).second) {
        return wrong(at, fmt::format("the key '{}' is there twice", key));
      }
    }
    for (const auto& [key, member] : merged)
      if (!object.contains(key)) object.emplace(key, member);
    return json::Value(std::move(object));
  }

  // The first of equal keys is used.
  static bool merge(const json::Value& from, json::Object& into) {
    if (const auto* object = from.if_object()) {
      for (const auto& [key, member] : *object)
        if (!into.contains(key)) into.emplace(key, member);
      return true;
    }
    const auto* array = from.if_array();
    if (array == nullptr) return false;
    for (const auto& element : *array)
      if (!element.is_object() || !merge(element, into)) return false;
    return true;
  }

  const std::string& name_;
  yaml_parser_t parser_{};
  std::map<std::string, json::Value> anchors_;
  std::size_t values_ = 0, copied_ = 0;
};

}  // namespace

Result<json::Value> read_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kLargestText)
    return fail(external::errc::bad_descriptor, fmt::format("{}: it is larger than 1 MiB", name));
  return Reader(text, name).read();
}

}  // namespace corral::backends
