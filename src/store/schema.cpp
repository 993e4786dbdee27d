#include "store/schema.h"

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sqlite3.h>

namespace corral::store {
namespace {

// `used`, `created`, `ended`: milliseconds since 1970. Released steps never change; a change is a new step.
constexpr std::array kKept = {
    R"(CREATE TABLE responses(
         id TEXT PRIMARY KEY, owner TEXT NOT NULL, used INTEGER NOT NULL, status TEXT NOT NULL,
         previous TEXT NOT NULL, doc TEXT NOT NULL, input TEXT NOT NULL, bytes INTEGER NOT NULL))",
    "CREATE INDEX responses_of ON responses(owner, used)",
    "CREATE INDEX responses_by_age ON responses(used)",
    R"(CREATE TABLE conversations(
         id TEXT PRIMARY KEY, owner TEXT NOT NULL, used INTEGER NOT NULL, created INTEGER NOT NULL,
         metadata TEXT NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID)",
    "CREATE INDEX conversations_of ON conversations(owner, used)",
    "CREATE INDEX conversations_by_age ON conversations(used)",
    R"(CREATE TABLE items(
         conversation TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
         number INTEGER NOT NULL, id TEXT NOT NULL, doc TEXT NOT NULL,
         PRIMARY KEY(conversation, number)))",
    "CREATE INDEX items_by_id ON items(conversation, id)",
};

constexpr std::array kWatched = {
    R"(CREATE TABLE activity(
         number INTEGER PRIMARY KEY AUTOINCREMENT, ended INTEGER NOT NULL, request TEXT NOT NULL, model TEXT NOT NULL,
         owner TEXT NOT NULL, key TEXT NOT NULL, dialect TEXT NOT NULL, path TEXT NOT NULL, client TEXT NOT NULL,
         prompt_tokens INTEGER, cached_tokens INTEGER, output_tokens INTEGER, first_token_ms INTEGER,
         duration_ms INTEGER NOT NULL, status INTEGER NOT NULL, outcome TEXT NOT NULL, node TEXT NOT NULL))",
    "CREATE INDEX activity_by_time ON activity(ended)",
    "CREATE INDEX activity_by_model ON activity(model, number)",
    "CREATE INDEX activity_by_owner ON activity(owner, number)",
    R"(CREATE TABLE captures(
         number INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT NOT NULL UNIQUE, ended INTEGER NOT NULL,
         doc TEXT NOT NULL, bytes INTEGER NOT NULL))",
};

void apply(Database& database, std::int64_t version) {
  const auto all = [&](const auto& statements) {
    for (const std::string_view sql : statements) database.run(sql);
  };
  if (version == 1) all(kKept);
  if (version == 2) all(kWatched);
}

constexpr std::int64_t kLatest = 2;

}  // namespace

void migrate(Database& database) {
  const auto found = database.number("PRAGMA user_version");
  if (found > kLatest) {
    throw Failure(SQLITE_ERROR,
                  fmt::format("it was made by a newer program (version {}; this one knows {})", found, kLatest));
  }
  if (found == kLatest) return;
  Transaction whole(database);
  for (auto version = found + 1; version <= kLatest; ++version) apply(database, version);
  database.run("PRAGMA user_version = " + std::to_string(kLatest));
  whole.commit();
}

}  // namespace corral::store
