#include "api/responses/item_list.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "api/base/query.h"
#include "http/message.h"
#include "json/writer.h"
#include "protocol/errors.h"
#include "protocol/responses/responses_fields.h"

namespace corral::api {
namespace {

constexpr std::int64_t kMaxItems = 100;

Result<std::string> id_of(std::string_view query, std::string_view name) {
  auto id = http::query_value(query, name).value_or("");
  if (id.size() > protocol::kLongestId)
    return wrong_query(name, fmt::format("an ID of at most {} bytes", protocol::kLongestId), id);
  return id;
}

}  // namespace

Result<PageRequest> page_request(std::string_view query) {
  PageRequest wanted;
  const auto limit = query_number(query, "limit", 1, kMaxItems);
  if (!limit) return std::unexpected(limit.error());
  if (*limit) wanted.page.limit = static_cast<std::size_t>(**limit);
  const auto order = http::query_value(query, "order").value_or("desc");
  if (order != "asc" && order != "desc") return wrong_query("order", "asc or desc", order);
  wanted.page.newest_first = order == "desc";
  auto after = id_of(query, "after"), before = id_of(query, "before");
  if (!after) return std::unexpected(after.error());
  if (!before) return std::unexpected(before.error());
  wanted.page.after = std::move(*after);
  wanted.before = std::move(*before);
  return wanted;
}

Result<store::ItemPage> page_of(std::vector<store::ItemRow> all, const PageRequest& wanted) {
  if (wanted.page.newest_first) std::ranges::reverse(all);
  auto begin = all.begin(), end = all.end();
  const auto find = [&](const std::string& id) { return std::ranges::find(all, id, &store::ItemRow::id); };
  if (!wanted.page.after.empty()) {
    const auto found = find(wanted.page.after);
    if (found == all.end()) return wrong_query("after", "the ID of an item of this list", wanted.page.after);
    begin = std::next(found);
  }
  if (!wanted.before.empty()) {
    const auto found = find(wanted.before);
    if (found == all.end()) return wrong_query("before", "the ID of an item of this list", wanted.before);
    end = std::max(begin, found);
  }
  store::ItemPage page;
  const auto count = std::min(static_cast<std::size_t>(std::distance(begin, end)), wanted.page.limit);
  page.more = count < static_cast<std::size_t>(std::distance(begin, end));
  page.items.assign(std::make_move_iterator(begin),
                    std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(count)));
  return page;
}

std::string item_list(const store::ItemPage& page) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("object", "list").key("data").begin_array();
  for (const auto& item : page.items) out.raw(item.doc);
  out.end_array();
  for (const auto* name : {"first_id", "last_id"}) {
    out.key(name);
    if (page.items.empty()) {
      out.null();
    } else {
      out.value(name == std::string_view("first_id") ? page.items.front().id : page.items.back().id);
    }
  }
  out.field("has_more", page.more).end_object();
  return text;
}

}  // namespace corral::api
