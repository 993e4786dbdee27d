// Responses and conversations in the file. Internal to store/; on its thread.
//
// When there is more than may be, the oldest goes of whoever has the most: who keeps much pushes out nobody else's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/database.h"
#include "store/rows.h"

namespace corral::store {

// Each takes the time, `now`. Errors: errc::not_found, and those said. Throws Failure.
class Tables {
 public:
  // What was under way when the program ended is interrupted from now on.
  Tables(Database& database, const Limits& limits);
  void change(const Limits& limits) { limits_ = limits; }

  // Replaces one of the same id and owner; of another owner it stays. errc::too_large: it alone is more than may be.
  Result<> put(const ResponseRow& row, std::int64_t now);
  Result<ResponseRow> response(std::string_view owner, std::string_view id, std::int64_t now);
  // That one and those that it goes on from, oldest first. errc::too_long, too_large; not_found names the one missing.
  Result<std::vector<ResponseRow>> chain(std::string_view owner, std::string_view id, ReadLimits limits,
                                         std::int64_t now);
  // Those that are there. errc::too_large.
  Result<std::vector<ResponseRow>> responses(std::string_view owner, const std::vector<std::string>& ids,
                                             ReadLimits limits, std::int64_t now);
  Result<> erase_response(std::string_view owner, std::string_view id, std::int64_t now);

  Result<> create(const ConversationRow& row, const std::vector<ItemRow>& items, std::int64_t now);
  Result<ConversationRow> conversation(std::string_view owner, std::string_view id, std::int64_t now);
  Result<ConversationRow> set_metadata(std::string_view owner, std::string_view id, std::string_view metadata,
                                       std::int64_t now);
  Result<> erase_conversation(std::string_view owner, std::string_view id, std::int64_t now);
  // errc::too_long: it would have more items than may be read.
  Result<> add(std::string_view owner, std::string_view id, const std::vector<ItemRow>& items, ReadLimits limits,
               std::int64_t now);
  Result<ItemPage> items(std::string_view owner, std::string_view id, const Page& page, std::int64_t now);
  // All of them, oldest first. errc::too_long, too_large.
  Result<std::vector<ItemRow>> all_items(std::string_view owner, std::string_view id, ReadLimits limits,
                                         std::int64_t now);
  Result<ItemRow> item(std::string_view owner, std::string_view id, std::string_view item, std::int64_t now);
  Result<> erase_item(std::string_view owner, std::string_view id, std::string_view item, std::int64_t now);

  // What is too old, or too much, goes.
  void tidy(std::int64_t now);
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::int64_t oldest(std::int64_t now) const { return now - limits_.response_age; }
  void booked(std::string_view owner, std::int64_t bytes);
  void evict_one();

  Database& database_;
  Limits limits_;
  std::map<std::string, std::int64_t, std::less<>> of_owner_;
  std::uint64_t bytes_ = 0;
};

}  // namespace corral::store
