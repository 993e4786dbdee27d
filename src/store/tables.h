// Responses and conversations in the file. Internal to store/; on its thread.
//
// Beyond the limit, the oldest data of the owner with the most data is deleted, so an owner evicts only its own.
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

// All functions take the time, `now`. Errors: errc::not_found, and those listed. Throws Failure.
class Tables {
 public:
  // Sets the status of unfinished responses of an ended program to interrupted.
  Tables(Database& database, const Limits& limits);
  void change(const Limits& limits) { limits_ = limits; }

  // Replaces a row of the same id and owner; a row of another owner stays. errc::too_large: above the limit for one
  // response.
  Result<> put(const ResponseRow& row, std::int64_t now);
  Result<ResponseRow> response(std::string_view owner, std::string_view id, std::int64_t now);
  // The response and those that it continues, oldest first. errc::too_long, too_large; not_found names the missing one.
  Result<std::vector<ResponseRow>> chain(std::string_view owner, std::string_view id, ReadLimits limits,
                                         std::int64_t now);
  // The existing ones. errc::too_large.
  Result<std::vector<ResponseRow>> responses(std::string_view owner, const std::vector<std::string>& ids,
                                             ReadLimits limits, std::int64_t now);
  Result<> erase_response(std::string_view owner, std::string_view id, std::int64_t now);

  Result<> create(const ConversationRow& row, const std::vector<ItemRow>& items, std::int64_t now);
  Result<ConversationRow> conversation(std::string_view owner, std::string_view id, std::int64_t now);
  // By their last change.
  Result<ConversationPage> conversations(std::string_view owner, const Page& page, std::int64_t now);
  Result<ConversationRow> set_metadata(std::string_view owner, std::string_view id, std::string_view metadata,
                                       std::int64_t now);
  Result<> erase_conversation(std::string_view owner, std::string_view id, std::int64_t now);
  // errc::too_long: it would exceed the limit of items.
  Result<> add(std::string_view owner, std::string_view id, const std::vector<ItemRow>& items, ReadLimits limits,
               std::int64_t now);
  Result<ItemPage> items(std::string_view owner, std::string_view id, const Page& page, std::int64_t now);
  // All items, oldest first. errc::too_long, too_large.
  Result<std::vector<ItemRow>> all_items(std::string_view owner, std::string_view id, ReadLimits limits,
                                         std::int64_t now);
  Result<ItemRow> item(std::string_view owner, std::string_view id, std::string_view item, std::int64_t now);
  Result<> erase_item(std::string_view owner, std::string_view id, std::string_view item, std::int64_t now);

  // Deletes data that is too old or too much.
  void tidy(std::int64_t now);
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::int64_t oldest(std::int64_t now) const { return now - limits_.response_age; }
  void add_bytes(std::string_view owner, std::int64_t bytes);
  void evict_one();

  Database& database_;
  Limits limits_;
  std::map<std::string, std::int64_t, std::less<>> of_owner_;
  std::uint64_t bytes_ = 0;
};

}  // namespace corral::store
