// The activity log: ended requests, and captured bodies of some. Internal to store/; on its thread. Throws Failure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/database.h"
#include "store/rows.h"

namespace corral::store {

// Throws Failure.
class Journal {
 public:
  Journal(Database& database, const Limits& limits);
  void change(const Limits& limits) { limits_ = limits; }

  // Adds all rows or none.
  void add(std::span<const ActivityRow> rows, std::int64_t now);
  // Newest first.
  std::vector<ActivityRow> find(const ActivityFilter& filter, std::int64_t now);

  // A capture above the limit of all captures isn't stored.
  void capture(const CaptureRow& row, std::int64_t now);
  // errc::not_found.
  Result<CaptureRow> captured(std::string_view request);

  void tidy(std::int64_t now);

 private:
  void insert(const ActivityRow& row);

  Database& database_;
  Limits limits_;
  std::uint64_t rows_ = 0, captured_bytes_ = 0;
};

}  // namespace corral::store
