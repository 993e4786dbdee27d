#include "store/journal.h"

#include <algorithm>

#include <fmt/format.h>

#include "store/errors.h"

namespace corral::store {
namespace {

constexpr std::int64_t kRowBytes = 256;

}  // namespace

Journal::Journal(Database& database, const Limits& limits)
    : database_(database),
      limits_(limits),
      rows_(static_cast<std::uint64_t>(database.number("SELECT COUNT(*) FROM activity"))),
      captured_bytes_(static_cast<std::uint64_t>(database.number("SELECT SUM(bytes) FROM captures"))) {}

void Journal::add(std::span<const ActivityRow> rows, std::int64_t now) {
  if (limits_.activity_rows == 0 || limits_.activity_age == 0 || rows.empty()) return;
  Transaction transaction(database_);
  for (const auto& row : rows) insert(row);
  transaction.commit();
  rows_ += rows.size();
  tidy(now);
}

void Journal::insert(const ActivityRow& row) {
  database_.run(
      "INSERT INTO activity(ended, request, model, owner, key, dialect, path, client, prompt_tokens, cached_tokens, "
      "output_tokens, first_token_ms, duration_ms, status, outcome, node) VALUES "
      "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      row.ended, row.request, row.model, row.owner, row.key, row.dialect, row.path, row.client, row.prompt_tokens,
      row.cached_tokens, row.output_tokens, row.first_token_ms, row.duration_ms, row.status, row.outcome, row.node);
}

std::vector<ActivityRow> Journal::find(const ActivityFilter& filter, std::int64_t now) {
  std::string sql =
      "SELECT number, ended, request, model, owner, key, dialect, path, client, prompt_tokens, cached_tokens, "
      "output_tokens, first_token_ms, duration_ms, status, outcome, node FROM activity "
      "WHERE ended >= ?1 AND number < ?2";
  if (!filter.model.empty()) sql += " AND model = ?3";
  if (filter.owner) sql += " AND owner = ?4";
  if (!filter.key.empty()) sql += " AND (owner = ?5 OR key = ?5)";
  // Every parameter occurs, used or not.
  sql += " AND (?3 = ?3 AND ?4 = ?4 AND ?5 = ?5) ORDER BY number DESC LIMIT ?6";
  const auto since = std::max(filter.since, now - limits_.activity_age);
  auto rows = database_.ask(sql, since, filter.before.value_or(INT64_MAX), filter.model, filter.owner.value_or(""),
                            filter.key, static_cast<std::int64_t>(filter.limit));
  std::vector<ActivityRow> all;
  while (rows.next()) {
    all.push_back({.number = rows.number(0),
                   .ended = rows.number(1),
                   .request = rows.text(2),
                   .model = rows.text(3),
                   .owner = rows.text(4),
                   .key = rows.text(5),
                   .dialect = rows.text(6),
                   .path = rows.text(7),
                   .client = rows.text(8),
                   .prompt_tokens = rows.maybe(9),
                   .cached_tokens = rows.maybe(10),
                   .output_tokens = rows.maybe(11),
                   .first_token_ms = rows.maybe(12),
                   .duration_ms = rows.number(13),
                   .status = static_cast<int>(rows.number(14)),
                   .outcome = rows.text(15),
                   .node = rows.text(16)});
  }
  return all;
}

void Journal::capture(const CaptureRow& row, std::int64_t now) {
  const auto size = kRowBytes + static_cast<std::int64_t>(row.doc.size());
  if (static_cast<std::uint64_t>(size) > limits_.capture_bytes) return;
  const auto had = database_.number("SELECT bytes FROM captures WHERE request = ?", row.request);
  database_.run("INSERT OR REPLACE INTO captures(request, ended, doc, bytes) VALUES (?, ?, ?, ?)", row.request,
                row.ended, row.doc, size);
  captured_bytes_ += static_cast<std::uint64_t>(size - had);
  tidy(now);
}

Result<CaptureRow> Journal::captured(std::string_view request) {
  auto rows = database_.ask("SELECT request, ended, doc FROM captures WHERE request = ?", request);
  if (rows.next()) return CaptureRow{.request = rows.text(0), .ended = rows.number(1), .doc = rows.text(2)};
  return fail(errc::not_found, fmt::format("no bodies of request '{}' are stored", request.substr(0, 100)));
}

void Journal::tidy(std::int64_t now) {
  if (rows_ > limits_.activity_rows) {
    const auto over = static_cast<std::int64_t>(rows_ - limits_.activity_rows);
    rows_ -= static_cast<std::uint64_t>(database_.run(
        "DELETE FROM activity WHERE number IN (SELECT number FROM activity ORDER BY number LIMIT ?)", over));
  }
  rows_ -= static_cast<std::uint64_t>(database_.run(
      "DELETE FROM activity WHERE number IN (SELECT number FROM activity WHERE ended < ? ORDER BY ended LIMIT 256)",
      now - limits_.activity_age));
  while (captured_bytes_ > limits_.capture_bytes) {
    const auto oldest = database_.number("SELECT MIN(number) FROM captures");
    if (oldest == 0) {
      captured_bytes_ = 0;
      return;
    }
    captured_bytes_ -=
        static_cast<std::uint64_t>(database_.number("SELECT bytes FROM captures WHERE number = ?", oldest));
    database_.run("DELETE FROM captures WHERE number = ?", oldest);
  }
}

}  // namespace corral::store
