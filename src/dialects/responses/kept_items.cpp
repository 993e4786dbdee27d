#include "dialects/responses/kept_items.h"

#include <array>

#include "dialects/answer_id.h"
#include "json/value.h"
#include "protocol/responses/responses_fields.h"

namespace corral::dialects::responses {
namespace {

using json::View;
using protocol::Item;

// The prefix of ids of items.
std::string_view kind_of_item(Item item) {
  switch (item) {
    case Item::message:
      return "msg";
    case Item::function_call:
      return "fc";
    case Item::function_output:
      return "fco";
    case Item::custom_call:
      return "ctc";
    case Item::custom_output:
      return "ctco";
    case Item::reasoning:
      return "rs";
    case Item::compaction:
      return "cmp";
    case Item::reference:
    case Item::foreign:
      break;
  }
  return "item";
}

// In the form of lists: parts, even if it came as a text.
void write_content(json::Writer& out, View content, bool assistant) {
  out.key("content").begin_array().begin_object();
  out.field("type", assistant ? "output_text" : "input_text").key("text").raw(content.text());
  if (assistant) out.key("annotations").begin_array().end_array();
  out.end_object().end_array();
}

void write_kept(json::Writer& out, View item, const std::string& id) {
  const auto kind = protocol::item_of(item);
  const bool message = kind == Item::message;
  out.begin_object().field("id", id);
  if (message) out.field("type", "message");
  item.each_member([&](std::string_view name, View value) {
    if (name == "id" || (message && name == "type")) return;
    if (message && name == "content" && value.is_string())
      return write_content(out, value, item.find("role").as_string() == "assistant");
    out.any_key(name).raw(value.text());
  });
  if (message && item.find("status").is_null()) out.field("status", "completed");
  out.end_object();
}

}  // namespace

std::string kept_input(View input, std::string_view request,
                       const std::map<std::string, std::string, std::less<>>& referred) {
  std::string text;
  text.reserve(input.bytes() + 128);
  json::Writer out(text);
  std::size_t place = 0;
  const auto own_id = [&](Item kind) {
    return answer_id(kind_of_item(kind), request).append("_i").append(std::to_string(place++));
  };
  out.begin_array();
  if (input.is_string()) {
    out.begin_object().field("id", own_id(Item::message)).field("type", "message").field("role", "user");
    write_content(out, input, false);
    out.field("status", "completed").end_object();
  }
  input.each_element([&](View item) {
    const auto kind = protocol::item_of(item);
    const auto id = item.find("id").as_string();
    if (kind == Item::reference) {
      if (const auto found = referred.find(id); found != referred.end()) out.raw(found->second);
    } else {
      auto own = own_id(kind);
      write_kept(out, item, id.empty() ? own : std::string(id));
    }
  });
  out.end_array();
  return text;
}

std::vector<KeptItem> items_in(const std::string& list_or_answer) {
  std::vector<KeptItem> items;
  const auto peek = json::Peek::open(list_or_answer);
  if (!peek) return items;
  const auto root = peek->root();
  (root.is_array() ? root : root.find("output")).each_element([&](View item) {
    items.push_back({.id = std::string(item.find("id").as_string()), .doc = item.text()});
  });
  return items;
}

// KIND_REQUEST_PLACE
std::string answer_of_item(std::string_view item) {
  const auto first = item.find('_'), last = item.rfind('_');
  if (first == std::string_view::npos || first == last) return {};
  return std::string("resp_").append(item.substr(first + 1, last - first - 1));
}

std::optional<LastAnswer> last_answer(std::string_view events) {
  static constexpr auto kEnds = std::to_array<std::string_view>({"completed", "incomplete", "failed"});
  constexpr std::string_view kEvent = "event: response.", kResponse = R"("response":)";
  for (auto at = events.find(kEvent); at != std::string_view::npos; at = events.find(kEvent, at + 1)) {
    if (at > 0 && events[at - 1] != '\n') continue;
    auto rest = events.substr(at + kEvent.size());
    for (const auto status : kEnds) {
      if (!rest.starts_with(status) || !rest.substr(status.size()).starts_with('\n')) continue;
      rest = rest.substr(0, rest.find("\n\n"));
      const auto begin = rest.find(kResponse);
      if (begin == std::string_view::npos || !rest.ends_with('}')) return std::nullopt;
      rest.remove_prefix(begin + kResponse.size());
      rest.remove_suffix(1);
      return LastAnswer{.status = status, .doc = rest};
    }
  }
  return std::nullopt;
}

std::string status_in(const std::string& answer) {
  const auto peek = json::Peek::open(answer);
  return peek ? std::string(peek->root().find("status").as_string()) : std::string();
}

std::string interrupted(const std::string& answer) {
  auto value = json::parse(answer);
  if (!value || !value->is_object()) return answer;
  value->get_object()["status"] = "incomplete";
  value->get_object()["incomplete_details"] = json::Object{{"reason", "interrupted"}};
  return json::serialize(*value);
}

std::string not_stored(const std::string& answer) {
  const auto peek = json::Peek::open(answer);
  if (!peek || !peek->root().is_object()) return answer;
  std::string text;
  text.reserve(answer.size() + 1);
  json::Writer out(text);
  out.begin_object();
  peek->root().each_member(
      [&](std::string_view name, View value) { out.any_key(name).raw(name == "store" ? "false" : value.text()); });
  out.end_object();
  return text;
}

std::string events_not_stored(std::string events) {
  const auto answer = last_answer(events);
  if (!answer) return events;
  const auto place = static_cast<std::size_t>(answer->doc.data() - events.data());
  const auto doc = not_stored(std::string(answer->doc));
  return events.replace(place, answer->doc.size(), doc);
}

}  // namespace corral::dialects::responses
