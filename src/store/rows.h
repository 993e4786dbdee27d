// Stored data as plain values. Times are milliseconds since 1970. Documents are JSON texts, which the store doesn't
// parse. `owner`: only the owner finds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::store {

struct ResponseRow {
  std::string id;
  std::string owner;
  std::int64_t created = 0;
  std::string status;         // "queued" and "in_progress" become the final status
  std::string previous = {};  // the response that it continues; empty: none
  std::string doc = {};       // the response
  std::string input = {};     // an array: the items of this request, without earlier ones
};
inline constexpr std::string_view kQueued = "queued";
inline constexpr std::string_view kInProgress = "in_progress";
inline constexpr std::string_view kInterrupted = "interrupted";  // the program ended first

struct ConversationRow {
  std::string id;
  std::string owner;
  std::int64_t created = 0;
  std::int64_t changed = 0;   // last change of its items or metadata
  std::string metadata = {};  // an object
};

struct ItemRow {
  std::string id;
  std::string doc;
};

// A page of a list.
struct Page {
  std::string after = {};  // after this one; empty: from the beginning
  bool newest_first = true;
  std::size_t limit = 20;
};
struct ItemPage {
  std::vector<ItemRow> items = {};
  bool more = false;
};
struct ConversationPage {
  std::vector<ConversationRow> conversations = {};
  bool more = false;
};

// Limits of one read of a chain or conversation.
struct ReadLimits {
  std::size_t rows = 1'000;
  std::uint64_t bytes = 32ull << 20;
};

// One request that has ended.
struct ActivityRow {
  std::int64_t number = 0;  // increases by one
  std::int64_t ended = 0;
  std::string request;
  std::string model = {};
  std::string owner = {};  // identifies the key
  std::string key = {};    // name of the key
  std::string dialect = {};
  std::string path = {};
  std::string client = {};  // from its User-Agent
  std::optional<std::int64_t> prompt_tokens = {}, cached_tokens = {}, output_tokens = {}, first_token_ms = {};
  std::int64_t duration_ms = 0;
  int status = 0;
  std::string outcome = {};
  std::string node = {};
};
struct ActivityFilter {
  std::string model = {};                   // empty: any
  std::optional<std::string> owner = {};    // nothing: any
  std::string key = {};                     // by identifier or name; empty: any
  std::int64_t since = 0;                   // ended then or later
  std::optional<std::int64_t> before = {};  // only those with a lower number
  std::size_t limit = 100;
};

struct CaptureRow {
  std::string request;
  std::int64_t ended = 0;
  std::string doc = {};
};

// Bounds of stored data. Ages in milliseconds. 0: nothing of this kind, or of this age, is found.
struct Limits {
  std::uint64_t response_bytes = 256ull << 20;  // responses and conversations together
  std::int64_t response_age = 30ll * 24 * 3'600 * 1'000;
  std::uint64_t activity_rows = 100'000;
  std::int64_t activity_age = 30ll * 24 * 3'600 * 1'000;
  std::uint64_t capture_bytes = 0;
  bool operator==(const Limits&) const = default;
};

}  // namespace corral::store
