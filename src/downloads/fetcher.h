// Fetching over HTTP, as an interface: curl_loop.h is the real one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.h"
#include "base/clock.h"
#include "downloads/attempts.h"
#include "downloads/ranges.h"

namespace corral::downloads {

// The head of an answer, of the last one where the server sent us on.
struct FetchHead {
  int status = 0;
  std::map<std::string, std::string, std::less<>> fields = {};  // names in small letters; of several of a name the last
  bool redirected = false;

  std::string_view field(std::string_view name) const;
  // What changes when the file does: Last-Modified, which mirrors share, else ETag, else nothing.
  std::string_view stamp() const;
  std::optional<Range> content_range() const;  // of a 206
  // Behind the "/" of Content-Range, or the length of a 200.
  std::optional<std::uint64_t> total() const;
  // What the server wants us to wait, by Retry-After, or by the rate limits that the hub tells.
  std::optional<std::chrono::seconds> retry_after() const;
};

enum class Take : std::uint8_t { more, enough, failed };

struct FetchRequest {
  std::string url = {};
  std::string token = {};           // sent to the host and port of `url` and nowhere else; empty: none
  std::optional<Range> range = {};  // of the file, in bytes
  std::optional<std::string> accept = {};
  bool head_only = false;
  bool fresh_connection = false;
  std::size_t max_body = 16 << 20;  // bytes of an answer that is kept
  // Gets the body of a 200 or 206 as it comes, on the loop; it mustn't throw. Without it the body is kept.
  std::function<Take(const FetchHead&, std::string_view)> sink = {};
};

struct FetchAnswer {
  FetchHead head = {};
  std::string body = {};  // what no sink took; of failures the beginning
  Fault fault = Fault::none;
  std::string detail = {};

  // For Attempts; `received` is the caller's to fill in.
  Outcome outcome(const FetchRequest& request) const;
};

class Fetcher {
 public:
  virtual ~Fetcher() = default;
  // Never throws but for cancellation, which closes the connection. Follows redirects.
  virtual async::Task<FetchAnswer> fetch(FetchRequest request) = 0;
};

}  // namespace corral::downloads
