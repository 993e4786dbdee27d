#include "api/filters/request_defaults.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "json/peek.h"
#include "json/writer.h"
#include "protocol/fields.h"

namespace corral::api {
namespace {

using protocol::Ask;

const protocol::FieldTable* fields_of(Ask ask) {
  switch (ask) {
    case Ask::chat:
    case Ask::chat_template:
    case Ask::chat_tokens:
      return &protocol::chat_fields();
    case Ask::completion:
      return &protocol::completion_fields();
    case Ask::native_completion:
      return &protocol::native_fields();
    case Ask::infill:
      return &protocol::infill_fields();
    case Ask::embedding:
      return &protocol::embedding_fields();
    case Ask::native_embedding:
      return &protocol::native_embedding_fields();
    default:
      return nullptr;
  }
}

// A body with one of these fields sets the others, too.
constexpr std::array<std::array<std::string_view, 4>, 4> kTogether = {{
    {"n_predict", "max_tokens", "max_completion_tokens", ""},
    {"grammar", "json_schema", "response_format", "tools"},
    {"enable_thinking", "reasoning_effort", "chat_template_kwargs", ""},
    {"n", "n_cmpl", "", ""},
}};

bool has_member(json::View body, std::string_view name) {
  if (!body.find(name).is_null()) return true;
  const auto has = [name](const auto& group) { return std::ranges::find(group, name) != group.end(); };
  const auto group = std::ranges::find_if(kTogether, has);
  return group != kTogether.end() && std::ranges::any_of(*group, [&](std::string_view other) {
           return !other.empty() && !body.find(other).is_null();
         });
}

bool is_chat(Ask ask) { return ask == Ask::chat || ask == Ask::chat_template || ask == Ask::chat_tokens; }

// Whether the chat can get a system message: it has messages, and none of the system.
bool has_no_system(json::View messages) {
  bool missing = messages.is_array() && !messages.empty();
  messages.each_element([&](json::View message) {
    const auto role = message.find("role");
    if (role.is_string() && (role.as_string() == "system" || role.as_string() == "developer")) missing = false;
    return missing;
  });
  return missing;
}

// The body with a system message in front of the others.
std::string with_system(json::View body, std::string_view system) {
  std::string text = "{";
  body.each_member([&](std::string_view name, json::View value) {
    if (text.size() > 1) text += ',';
    json::append_quoted(text, name);
    text += ':';
    if (name != "messages") {
      text += value.text();
      return;
    }
    text += R"([{"role":"system","content":)";
    json::append_quoted(text, system);
    text.append("},").append(value.text(), 1);
  });
  return text += '}';
}

// The members of `wanted` that `accepts` takes and `given` doesn't set, as text that belongs to the end of `given`: the
// last of equal members is used, so a null there is replaced.
template <typename Accepts>
std::string missing_members(json::View given, json::View wanted, Accepts accepts) {
  std::string added;
  wanted.each_member([&](std::string_view name, json::View value) {
    if (!accepts(name) || has_member(given, name)) return;
    if (!added.empty() || !given.empty()) added += ',';
    json::append_quoted(added, name);
    added.append(":").append(value.text());
  });
  return added;
}

}  // namespace

std::string with_defaults(std::string body, const std::string& defaults, Ask ask) {
  const auto* fields = fields_of(ask);
  const auto given = json::Peek::open(body);
  const auto wanted = json::Peek::open(defaults);
  if (fields == nullptr || !given || !wanted || !given->root().is_object()) return body;
  const auto system = wanted->root().find("system");
  if (is_chat(ask) && system.is_string() && !system.as_string().empty() &&
      has_no_system(given->root().find("messages"))) {
    return with_defaults(with_system(given->root(), system.as_string()), defaults, ask);
  }
  const auto is_field = [fields](std::string_view name) { return fields->find(name) != nullptr; };
  const auto added = missing_members(given->root(), wanted->root(), is_field);
  body.insert(body.rfind('}'), added);
  return body;
}

std::string merged_defaults(std::string defaults, const std::string& inherited) {
  if (defaults.empty() || inherited.empty()) return defaults.empty() ? inherited : defaults;
  const auto own = json::Peek::open(defaults);
  const auto others = json::Peek::open(inherited);
  if (!own || !others || !own->root().is_object()) return defaults;
  const auto added = missing_members(own->root(), others->root(), [](std::string_view) { return true; });
  defaults.insert(defaults.rfind('}'), added);
  return defaults;
}

}  // namespace corral::api
