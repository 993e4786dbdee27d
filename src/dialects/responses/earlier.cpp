#include "dialects/responses/earlier.h"

#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "protocol/errors.h"
#include "protocol/responses/responses_fields.h"

namespace corral::dialects::responses {

using json::View;
using protocol::Item;

Result<Earlier> open_earlier(const Before& before) {
  Earlier earlier;
  for (const auto& text : before.earlier) {
    auto peek = json::Peek::open(text);
    if (!peek) return std::unexpected(std::move(peek.error()));
    earlier.texts.push_back(std::move(*peek));
  }
  for (const auto& [id, text] : before.items) {
    auto peek = json::Peek::open(text);
    if (!peek) return std::unexpected(std::move(peek.error()));
    earlier.items.emplace(id, std::move(*peek));
  }
  return earlier;
}

View items_of(const json::Peek& text) {
  const auto root = text.root();
  return root.is_array() ? root : root.find("output");
}

Result<> check_references(View input, const Items::Referred& items) {
  Result<> result;
  std::size_t place = 0;
  input.each_element([&](View item) {
    const auto here = place++;
    const auto id = item.find("id");
    if (protocol::item_of(item) != Item::reference || items.contains(id.as_string())) return true;
    const auto where = fmt::format("input[{}].id", here);
    result =
        fail(protocol::errc::bad_value,
             fmt::format("'{}' is {}, but no such item is stored: send the item itself", where, id.excerpt()), where);
    return false;
  });
  return result;
}

Result<> check_outputs(View input, const Earlier& earlier, std::string_view continued) {
  std::set<std::string_view> called;
  const auto note = [&](View item) {
    const auto kind = protocol::item_of(item);
    if (kind == Item::function_call || kind == Item::custom_call) called.insert(item.find("call_id").as_string());
  };
  for (const auto& text : earlier.texts) items_of(text).each_element(note);
  for (const auto& [id, item] : earlier.items) note(item.root());
  input.each_element(note);
  Result<> result;
  std::size_t place = 0;
  input.each_element([&](View item) {
    const auto here = place++;
    const auto kind = protocol::item_of(item);
    const auto id = item.find("call_id");
    if (kind != Item::function_output && kind != Item::custom_output) return true;
    if (id.is_null() || called.contains(id.as_string())) return true;
    const auto where = fmt::format("input[{}].call_id", here);
    result =
        fail(protocol::errc::bad_value,
             fmt::format("'{}' is {}, but the conversation of '{}' has no call with this id: send the id of one of "
                         "its calls, or the call itself before its output",
                         where, id.excerpt(), continued),
             where);
    return false;
  });
  return result;
}

}  // namespace corral::dialects::responses
