#include "protocol/fields.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include <fmt/format.h>

#include "protocol/errors.h"
#include "protocol/media.h"

namespace corral::protocol {
namespace {

Kinds kinds_of(json::Kind kind) {
  switch (kind) {
    case json::Kind::boolean:
      return kBoolean;
    case json::Kind::integer:
      return kInteger | kNumber;
    case json::Kind::number:
      return kNumber;
    case json::Kind::string:
      return kString;
    case json::Kind::array:
      return kArray;
    case json::Kind::object:
      return kObject;
    case json::Kind::null:
      break;
  }
  return Kinds{};
}

// Members of a body. Rules between fields search each of them by its name.
constexpr std::size_t kMaxMembers = 512;

bool overlap(Kinds a, Kinds b) { return (unsigned(a) & unsigned(b)) != 0; }

std::string join_or(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " or " : ", ";
    text += parts[i];
  }
  return text;
}

std::string element_names(Kinds kinds) {
  std::vector<std::string> names;
  if (overlap(kinds, kString)) names.emplace_back("strings");
  if (overlap(kinds, kNumber))
    names.emplace_back("numbers");
  else if (overlap(kinds, kInteger))
    names.emplace_back("integers");
  if (overlap(kinds, kBoolean)) names.emplace_back("booleans");
  if (overlap(kinds, kArray)) names.emplace_back("arrays");
  if (overlap(kinds, kObject)) names.emplace_back("objects");
  return join_or(names);
}

std::string number_name(const Field& rule) {
  const bool whole = !overlap(rule.kinds, kNumber);
  const std::string_view noun = whole ? "an integer" : "a number";
  if (rule.min == rule.max) return fmt::format("{}", rule.min);
  if (rule.min == kAboveZero) return fmt::format("{} above 0", noun);
  if (rule.min > -kUnbounded && rule.max < kUnbounded) {
    return fmt::format("{} between {} and {}", noun, rule.min, rule.max);
  }
  if (rule.min > -kUnbounded) return fmt::format("{} of at least {}", noun, rule.min);
  if (rule.max < kUnbounded) return fmt::format("{} of at most {}", noun, rule.max);
  return std::string(noun);
}

std::string string_name(const Field& rule) {
  if (!rule.choices.empty()) {
    std::vector<std::string> choices;
    for (auto rest = rule.choices; !rest.empty();) {
      const auto end = std::min(rest.find('|'), rest.size());
      choices.push_back(fmt::format("\"{}\"", rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return join_or(choices);
  }
  return rule.min_size > 0 && overlap(rule.kinds, kString) ? "a non-empty string" : "a string";
}

bool is_choice(std::string_view choices, std::string_view text) {
  while (!choices.empty()) {
    const auto end = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, end) == text) return true;
    choices.remove_prefix(std::min(end + 1, choices.size()));
  }
  return false;
}

std::unexpected<Error> refuse(errc cause, json::View value, const Field& rule, const Path& path) {
  auto where = path.text();
  auto message = fmt::format("'{}' must be {}, not {}", where, expectation(rule), value.excerpt());
  return fail(cause, std::move(message), std::move(where));
}

Result<> check_size(std::size_t size, std::string_view what, std::size_t max, const Field& rule, const Path& path) {
  if (size >= rule.min_size && size <= max) return {};
  auto where = path.text();
  auto message = size < rule.min_size ? fmt::format("'{}' must be {}, but it is empty", where, expectation(rule))
                                      : fmt::format("'{}' has {} {}, at most {} are allowed{}{}", where, size, what,
                                                    max, rule.instead.empty() ? "" : ": ", rule.instead);
  return fail(errc::bad_value, std::move(message), std::move(where));
}

Result<> check_elements(json::View array, const Field& rule, const Path& path) {
  Result<> result;
  std::size_t at = 0;
  array.each_element([&](json::View element) {
    const Path place{&path, {}, at};
    if (overlap(kinds_of(element.kind()), rule.elements)) {
      ++at;
      if (rule.max_bytes == kNoLimit || !element.is_string()) return true;
      const Field one{.name = {}, .instead = rule.instead};
      result = check_size(element.as_string().size(), "bytes", rule.max_bytes, one, place);
      return result.has_value();
    }
    auto where = place.text();
    result =
        fail(errc::wrong_type,
             fmt::format("'{}' must be {}, but '{}' is {}", path.text(), expectation(rule), where, element.excerpt()),
             where);
    return false;
  });
  return result;
}

}  // namespace

std::string expectation(const Field& rule) {
  std::vector<std::string> names;
  if (overlap(rule.kinds, kBoolean)) names.emplace_back("true or false");
  if (overlap(rule.kinds, kInteger | kNumber)) names.push_back(number_name(rule));
  if (overlap(rule.kinds, kString)) names.push_back(string_name(rule));
  if (overlap(rule.kinds, kArray)) {
    const auto* empty = rule.min_size > 0 ? "a non-empty array" : "an array";
    names.push_back(rule.elements == kAny ? empty : fmt::format("{} of {}", empty, element_names(rule.elements)));
  }
  if (overlap(rule.kinds, kObject)) names.emplace_back("an object");
  return join_or(names);
}

std::string Path::text() const {
  if (root()) return {};
  auto text = up->text();
  if (index != kNoIndex) return text + fmt::format("[{}]", index);
  if (!text.empty()) text.push_back('.');
  return text.append(name);
}

Result<> check_value(json::View value, const Field& rule, const Path& path) {
  const auto kind = value.kind();
  const auto kinds = kinds_of(kind);
  if (!overlap(kinds, rule.kinds)) return refuse(errc::wrong_type, value, rule, path);
  if (overlap(kinds, kNumber)) {
    const double number = value.as_number();
    if (number < rule.min || number > rule.max) return refuse(errc::bad_value, value, rule, path);
  } else if (kind == json::Kind::string) {
    const auto text = value.as_string();
    if (!rule.choices.empty() && !is_choice(rule.choices, text)) return refuse(errc::bad_value, value, rule, path);
    if (auto fine = check_size(text.size(), "bytes", rule.max_bytes, rule, path); !fine) return fine;
  } else if (kind == json::Kind::array) {
    if (auto fine = check_size(value.size(), "elements", rule.max_size, rule, path); !fine) return fine;
    if (rule.elements != kAny) {
      if (auto fine = check_elements(value, rule, path); !fine) return fine;
    }
  }
  return rule.inside ? rule.inside(value, path) : Result<>();
}

FieldTable::FieldTable(std::span<const Field> fields, Across across) : fields_(fields), across_(across) {
  if (fields.size() > 127) throw std::logic_error("a field table holds at most 127 fields");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto at = slot(fields[i].name);
    while (index_[at] != 0) {
      if (fields[index_[at] - 1u].name == fields[i].name) throw std::logic_error("a field is twice in a table");
      at = (at + 1) % kSlots;
    }
    index_[at] = static_cast<std::uint8_t>(i + 1);
    if (fields[i].required) required_[i / 64] |= std::uint64_t(1) << (i % 64);
  }
}

std::size_t FieldTable::slot(std::string_view name) {
  if (name.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(name[i]); };
  return (name.size() * 31 + byte(0) * 7 + byte(name.size() / 2) * 13 + byte(name.size() - 1)) % kSlots;
}

const Field* FieldTable::find(std::string_view name) const {
  for (auto at = slot(name); index_[at] != 0; at = (at + 1) % kSlots) {
    const auto& field = fields_[index_[at] - 1u];
    if (field.name == name) return &field;
  }
  return nullptr;
}

Result<> FieldTable::check(json::View object, const Path& path) const {
  if (!object.is_object()) {
    auto where = path.text();
    auto message = path.root() ? fmt::format("the body must be a JSON object, not {}", object.excerpt())
                               : fmt::format("'{}' must be an object, not {}", where, object.excerpt());
    return fail(errc::wrong_type, std::move(message), std::move(where));
  }
  std::uint64_t seen[2] = {0, 0};  // one bit per field
  std::size_t members = 0;
  Result<> result;
  object.each_member([&](std::string_view name, json::View value) {
    if (++members > kMaxMembers && path.root()) {
      result = fail(errc::bad_value, fmt::format("the body has more than {} fields: omit unused ones", kMaxMembers));
      return false;
    }
    const auto* field = find(name);
    if (!field || value.is_null()) return true;
    const auto number = static_cast<std::size_t>(field - fields_.data());
    seen[number / 64] |= std::uint64_t(1) << (number % 64);
    auto fine = check_value(value, *field, Path{&path, name});
    if (!fine) result = std::move(fine);
    return result.has_value();
  });
  if (!result) return result;
  for (const std::size_t word : {0, 1}) {
    const auto missing = required_[word] & ~seen[word];
    if (missing == 0) continue;
    const auto i = word * 64 + static_cast<std::size_t>(std::countr_zero(missing));
    auto where = Path{&path, fields_[i].name}.text();
    auto message = fmt::format("'{}' is required: {}", where, expectation(fields_[i]));
    return fail(errc::missing_field, std::move(message), std::move(where));
  }
  return across_ ? across_(object) : Result<>();
}

std::optional<Millis> ping_interval(json::View seconds) {
  if (seconds.is_null()) return std::nullopt;
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds.as_integer(), 0, kMax));
}

Result<Peeked> check(json::View body, const FieldTable& table) {
  if (auto fine = table.check(body); !fine) return std::unexpected(std::move(fine.error()));
  if (&table == &chat_fields()) {
    const Path root;
    auto fine = check_media(body.find("messages"), {&root, "messages"});
    if (!fine) return std::unexpected(std::move(fine.error()));
  }
  Peeked peeked;
  body.each_member([&](std::string_view name, json::View value) {
    if (name == "model") peeked.model = value.as_string();
    if (name == "stream") peeked.stream = value.as_bool();
    if (name == "stream_options") peeked.include_usage = value.find("include_usage").as_bool();
    if (name == "sse_ping_interval") peeked.ping_interval = ping_interval(value);
    if (name == "ctx_size") peeked.context = static_cast<std::uint64_t>(std::max<std::int64_t>(value.as_integer(), 0));
    if (name == "messages") peeked.media = media_in(value);
  });
  return peeked;
}

Result<Peeked> check(const std::string& body, const FieldTable& table) {
  auto peek = json::Peek::open(body);
  if (!peek) return std::unexpected(std::move(peek.error()));
  return check(peek->root(), table);
}

Error missing_model() {
  return {make_error_code(errc::missing_field), "'model' is required: the name of a model, see /v1/models", "model"};
}

Error wrong_model_type(std::string_view model, ModelType type, std::string_view endpoint, ModelType needed) {
  return {make_error_code(errc::wrong_model_type),
          fmt::format("'{}' is of type {}, but {} needs a model of type {}: use another 'model', see /v1/models", model,
                      name_of(type), endpoint, name_of(needed)),
          "model"};
}

}  // namespace corral::protocol
