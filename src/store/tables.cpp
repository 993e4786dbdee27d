#include "store/tables.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "store/errors.h"

namespace corral::store {
namespace {

// Bytes of a row in addition to its texts.
constexpr std::int64_t kRowBytes = 512, kItemBytes = 128;
// One response or conversation may have at most this part of the limit.
constexpr std::uint64_t kLargestPart = 4;

std::int64_t size_of(const ResponseRow& row) {
  return kRowBytes + static_cast<std::int64_t>(row.doc.size() + row.input.size() + row.owner.size());
}
std::int64_t size_of(const ItemRow& item) {
  return kItemBytes + static_cast<std::int64_t>(item.doc.size() + item.id.size());
}
std::int64_t size_of(const std::vector<ItemRow>& items) {
  std::int64_t all = 0;
  for (const auto& item : items) all += size_of(item);
  return all;
}

// For messages: an id is any text of a client.
std::string shown(std::string_view id) { return fmt::format("'{}'{}", id.substr(0, 100), id.size() > 100 ? "…" : ""); }

std::unexpected<Error> missing(std::string_view what, std::string_view id) {
  return fail(errc::not_found,
              fmt::format("unknown {} {}: it was never stored, was deleted or has expired", what, shown(id)));
}

Error too_many(std::string_view id, std::size_t rows, std::string_view what) {
  return {make_error_code(errc::too_long),
          fmt::format("{} continues more than {} {}: start a new one with the relevant parts", shown(id), rows, what)};
}
Error too_much(std::string_view id, std::uint64_t bytes) {
  return {make_error_code(errc::too_large),
          fmt::format("the stored data of {} has more than {} bytes: start a new one with the relevant parts",
                      shown(id), bytes)};
}

constexpr std::string_view kResponse = "SELECT id, owner, used, status, previous, doc, input FROM responses";

ResponseRow response_of(const Rows& rows) {
  return {.id = rows.text(0),
          .owner = rows.text(1),
          .created = rows.number(2),
          .status = rows.text(3),
          .previous = rows.text(4),
          .doc = rows.text(5),
          .input = rows.text(6)};
}

constexpr std::string_view kConversation = "SELECT id, owner, created, used, metadata FROM conversations";

ConversationRow conversation_of(const Rows& rows) {
  return {.id = rows.text(0),
          .owner = rows.text(1),
          .created = rows.number(2),
          .changed = rows.number(3),
          .metadata = rows.text(4)};
}

}  // namespace

Tables::Tables(Database& database, const Limits& limits) : database_(database), limits_(limits) {
  database_.run("UPDATE responses SET status = ? WHERE status IN (?, ?)", kInterrupted, kQueued, kInProgress);
  auto rows = database_.ask(
      "SELECT owner, SUM(bytes) FROM (SELECT owner, bytes FROM responses UNION ALL SELECT owner, bytes FROM "
      "conversations) GROUP BY owner");
  while (rows.next()) add_bytes(rows.text(0), rows.number(1));
}

void Tables::add_bytes(std::string_view owner, std::int64_t bytes) {
  bytes_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(bytes_) + bytes);
  const auto found = of_owner_.find(owner);
  if (found == of_owner_.end()) {
    of_owner_.emplace(owner, bytes);
  } else if ((found->second += bytes) <= 0) {
    of_owner_.erase(found);
  }
}

Result<> Tables::put(const ResponseRow& row, std::int64_t now) {
  const auto size = size_of(row);
  const auto largest = limits_.response_bytes / kLargestPart;
  if (static_cast<std::uint64_t>(size) > largest) {
    return fail(errc::too_large,
                fmt::format("{} has {} bytes with its input, more than the limit of {}: it is not stored",
                            shown(row.id), size, largest));
  }
  {
    Transaction whole(database_);
    if (database_.number("SELECT COUNT(*) FROM responses WHERE id = ? AND owner <> ?", row.id, row.owner) > 0)
      return missing("response", row.id);
    const auto had = database_.number("SELECT bytes FROM responses WHERE id = ?", row.id);
    database_.run(
        "INSERT OR REPLACE INTO responses(id, owner, used, status, previous, doc, input, bytes) VALUES "
        "(?, ?, ?, ?, ?, ?, ?, ?)",
        row.id, row.owner, row.created, row.status, row.previous, row.doc, row.input, size);
    whole.commit();
    add_bytes(row.owner, size - had);
  }
  tidy(now);
  return {};
}

Result<ResponseRow> Tables::response(std::string_view owner, std::string_view id, std::int64_t now) {
  auto rows =
      database_.ask(std::string(kResponse) + " WHERE id = ? AND owner = ? AND used >= ?", id, owner, oldest(now));
  if (!rows.next()) return missing("response", id);
  return response_of(rows);
}

Result<std::vector<ResponseRow>> Tables::chain(std::string_view owner, std::string_view id, ReadLimits limits,
                                               std::int64_t now) {
  std::vector<ResponseRow> all;
  std::uint64_t bytes = 0;
  std::string next(id);
  while (!next.empty()) {
    // Our own ids can't form a cycle; if they did, this limit would end it.
    if (all.size() >= limits.rows) return std::unexpected(too_many(id, limits.rows, "responses"));
    auto row = response(owner, next, now);
    if (!row && !all.empty()) {
      row.error().message = fmt::format(
          "{} continues {}, which is no longer stored: send the whole conversation in 'input'", shown(id), shown(next));
    }
    if (!row) return std::unexpected(row.error());
    bytes += row->doc.size() + row->input.size();
    if (bytes > limits.bytes) return std::unexpected(too_much(id, limits.bytes));
    next = row->previous;
    all.push_back(std::move(*row));
  }
  std::ranges::reverse(all);
  return all;
}

Result<std::vector<ResponseRow>> Tables::responses(std::string_view owner, const std::vector<std::string>& ids,
                                                   ReadLimits limits, std::int64_t now) {
  std::vector<ResponseRow> all;
  std::uint64_t bytes = 0;
  for (const auto& id : ids) {
    auto row = response(owner, id, now);
    if (!row) continue;
    bytes += row->doc.size() + row->input.size();
    if (bytes > limits.bytes) return std::unexpected(too_much(id, limits.bytes));
    all.push_back(std::move(*row));
  }
  return all;
}

Result<> Tables::erase_response(std::string_view owner, std::string_view id, std::int64_t now) {
  const auto size =
      database_.number("SELECT bytes FROM responses WHERE id = ? AND owner = ? AND used >= ?", id, owner, oldest(now));
  if (size == 0) return missing("response", id);
  database_.run("DELETE FROM responses WHERE id = ? AND owner = ?", id, owner);
  add_bytes(owner, -size);
  return {};
}

Result<> Tables::create(const ConversationRow& row, const std::vector<ItemRow>& items, std::int64_t now) {
  const auto size = kRowBytes + static_cast<std::int64_t>(row.metadata.size() + row.owner.size());
  {
    Transaction whole(database_);
    database_.run("INSERT INTO conversations(id, owner, used, created, metadata, bytes) VALUES (?, ?, ?, ?, ?, ?)",
                  row.id, row.owner, row.created, row.created, row.metadata, size);
    whole.commit();
    add_bytes(row.owner, size);
  }
  auto added = add(row.owner, row.id, items, {}, now);
  if (!added) (void)erase_conversation(row.owner, row.id, now);
  return added;
}

Result<ConversationRow> Tables::conversation(std::string_view owner, std::string_view id, std::int64_t now) {
  auto rows =
      database_.ask(std::string(kConversation) + " WHERE id = ? AND owner = ? AND used >= ?", id, owner, oldest(now));
  if (!rows.next()) return missing("conversation", id);
  return conversation_of(rows);
}

Result<ConversationPage> Tables::conversations(std::string_view owner, const Page& page, std::int64_t now) {
  auto least = oldest(now);
  std::int64_t from = page.newest_first ? INT64_MAX : INT64_MIN;
  if (!page.after.empty()) {
    const auto last = conversation(owner, page.after, now);
    if (!last) return std::unexpected(last.error());
    from = last->changed;
    // Without this bound, SQLite reads all rows before `after` too.
    if (!page.newest_first) least = from;
  }
  const std::string_view rest = page.newest_first ? "(used, id) < (?, ?) ORDER BY used DESC, id DESC LIMIT ?"
                                                  : "(used, id) > (?, ?) ORDER BY used, id LIMIT ?";
  auto rows = database_.ask(fmt::format("{} WHERE owner = ? AND used >= ? AND {}", kConversation, rest), owner, least,
                            from, page.after, static_cast<std::int64_t>(page.limit) + 1);
  ConversationPage found;
  while (rows.next()) {
    if (found.conversations.size() == page.limit) {
      found.more = true;
      break;
    }
    found.conversations.push_back(conversation_of(rows));
  }
  return found;
}

Result<ConversationRow> Tables::set_metadata(std::string_view owner, std::string_view id, std::string_view metadata,
                                             std::int64_t now) {
  auto row = conversation(owner, id, now);
  if (!row) return row;
  const auto more = static_cast<std::int64_t>(metadata.size()) - static_cast<std::int64_t>(row->metadata.size());
  database_.run("UPDATE conversations SET metadata = ?, bytes = bytes + ?, used = ? WHERE id = ?", metadata, more, now,
                id);
  add_bytes(owner, more);
  row->metadata = metadata;
  row->changed = now;
  tidy(now);
  return row;
}

Result<> Tables::erase_conversation(std::string_view owner, std::string_view id, std::int64_t now) {
  const auto size = database_.number("SELECT bytes FROM conversations WHERE id = ? AND owner = ? AND used >= ?", id,
                                     owner, oldest(now));
  if (size == 0) return missing("conversation", id);
  database_.run("DELETE FROM conversations WHERE id = ?", id);
  add_bytes(owner, -size);
  return {};
}

Result<> Tables::add(std::string_view owner, std::string_view id, const std::vector<ItemRow>& items, ReadLimits limits,
                     std::int64_t now) {
  if (auto found = conversation(owner, id, now); !found) return std::unexpected(found.error());
  const auto count =
      static_cast<std::size_t>(database_.number("SELECT COUNT(*) FROM items WHERE conversation = ?", id));
  if (count + items.size() > limits.rows) return std::unexpected(too_many(id, limits.rows, "items"));
  const auto size = size_of(items);
  const auto had = database_.number("SELECT bytes FROM conversations WHERE id = ?", id);
  if (static_cast<std::uint64_t>(had + size) > std::min(limits.bytes, limits_.response_bytes / kLargestPart))
    return std::unexpected(too_much(id, std::min(limits.bytes, limits_.response_bytes / kLargestPart)));
  {
    Transaction whole(database_);
    auto number = database_.number("SELECT MAX(number) FROM items WHERE conversation = ?", id);
    for (const auto& item : items) {
      database_.run("INSERT INTO items(conversation, number, id, doc) VALUES (?, ?, ?, ?)", id, ++number, item.id,
                    item.doc);
    }
    database_.run("UPDATE conversations SET bytes = bytes + ?, used = ? WHERE id = ?", size, now, id);
    whole.commit();
    add_bytes(owner, size);
  }
  tidy(now);
  return {};
}

Result<ItemPage> Tables::items(std::string_view owner, std::string_view id, const Page& page, std::int64_t now) {
  if (auto found = conversation(owner, id, now); !found) return std::unexpected(found.error());
  std::int64_t from = page.newest_first ? INT64_MAX : 0;
  if (!page.after.empty()) {
    from = database_.number("SELECT number FROM items WHERE conversation = ? AND id = ?", id, page.after);
    if (from == 0) return missing("item", page.after);
  }
  const std::string_view sql =
      page.newest_first ? "SELECT id, doc FROM items WHERE conversation = ? AND number < ? ORDER BY number DESC LIMIT ?"
                        : "SELECT id, doc FROM items WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?";
  auto rows = database_.ask(sql, id, from, static_cast<std::int64_t>(page.limit) + 1);
  ItemPage found;
  while (rows.next()) {
    if (found.items.size() == page.limit) {
      found.more = true;
      break;
    }
    found.items.push_back({.id = rows.text(0), .doc = rows.text(1)});
  }
  return found;
}

Result<std::vector<ItemRow>> Tables::all_items(std::string_view owner, std::string_view id, ReadLimits limits,
                                               std::int64_t now) {
  if (auto found = conversation(owner, id, now); !found) return std::unexpected(found.error());
  auto rows = database_.ask("SELECT id, doc FROM items WHERE conversation = ? ORDER BY number", id);
  std::vector<ItemRow> all;
  std::uint64_t bytes = 0;
  while (rows.next()) {
    if (all.size() >= limits.rows) return std::unexpected(too_many(id, limits.rows, "items"));
    all.push_back({.id = rows.text(0), .doc = rows.text(1)});
    bytes += all.back().doc.size();
    if (bytes > limits.bytes) return std::unexpected(too_much(id, limits.bytes));
  }
  return all;
}

Result<ItemRow> Tables::item(std::string_view owner, std::string_view id, std::string_view item, std::int64_t now) {
  if (auto found = conversation(owner, id, now); !found) return std::unexpected(found.error());
  auto rows = database_.ask("SELECT id, doc FROM items WHERE conversation = ? AND id = ? ORDER BY number", id, item);
  if (!rows.next()) return missing("item", item);
  return ItemRow{.id = rows.text(0), .doc = rows.text(1)};
}

Result<> Tables::erase_item(std::string_view owner, std::string_view id, std::string_view item, std::int64_t now) {
  const auto found = this->item(owner, id, item, now);
  if (!found) return std::unexpected(found.error());
  const auto size = size_of(*found);
  Transaction whole(database_);
  database_.run(
      "DELETE FROM items WHERE conversation = ? AND number = (SELECT MIN(number) FROM items WHERE conversation = ? AND "
      "id = ?)",
      id, id, item);
  database_.run("UPDATE conversations SET bytes = bytes - ?, used = ? WHERE id = ?", size, now, id);
  whole.commit();
  add_bytes(owner, -size);
  return {};
}

void Tables::tidy(std::int64_t now) {
  const auto end = oldest(now);
  for (const std::string_view table : {"responses", "conversations"}) {
    struct Old {
      std::string id, owner;
      std::int64_t bytes;
    };
    std::vector<Old> all;
    {
      auto rows = database_.ask(fmt::format("SELECT id, owner, bytes FROM {} WHERE used < ? LIMIT 256", table), end);
      while (rows.next()) all.push_back({rows.text(0), rows.text(1), rows.number(2)});
    }
    for (const auto& old : all) {
      database_.run(fmt::format("DELETE FROM {} WHERE id = ?", table), old.id);
      add_bytes(old.owner, -old.bytes);
    }
  }
  while (bytes_ > limits_.response_bytes && !of_owner_.empty()) evict_one();
}

void Tables::evict_one() {
  const auto largest = std::ranges::max_element(of_owner_, {}, [](const auto& entry) { return entry.second; });
  const auto owner = largest->first;
  std::string_view table;
  std::string id;
  std::int64_t bytes = 0;
  {
    auto rows = database_.ask(
        "SELECT * FROM (SELECT id, bytes, used, 1 FROM responses WHERE owner = ? ORDER BY used LIMIT 1) UNION ALL "
        "SELECT * FROM (SELECT id, bytes, used, 0 FROM conversations WHERE owner = ? ORDER BY used LIMIT 1) "
        "ORDER BY 3 LIMIT 1",
        owner, owner);
    if (!rows.next()) return add_bytes(owner, -largest->second);  // can't happen; counting anew avoids an endless loop
    id = rows.text(0);
    bytes = rows.number(1);
    table = rows.number(3) == 1 ? "responses" : "conversations";
  }
  database_.run(fmt::format("DELETE FROM {} WHERE id = ?", table), id);
  add_bytes(owner, -bytes);
}

}  // namespace corral::store
