// Interface of HTTP fetches; curl_loop.h is the implementation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.h"
#include "base/clock.h"
#include "downloads/transfer/attempts.h"
#include "downloads/transfer/ranges.h"

namespace corral::downloads {

// The head of a response; after redirects that of the last one.
struct FetchHead {
  int status = 0;
  std::map<std::string, std::string, std::less<>> fields = {};  // names in lower case; of repeated fields the last one
  bool elsewhere = false;                                       // it came from another server than the requested one

  std::string_view field(std::string_view name) const;
  // Changes with the file: Last-Modified, which is the same on mirrors, else ETag, else empty.
  std::string_view stamp() const;
  std::optional<Range> content_range() const;  // of a 206
  // The size after the "/" of Content-Range, or the length of a 200.
  std::optional<std::uint64_t> total() const;
  // The pause that the server asks for, by Retry-After, or by the hub's rate limit fields.
  std::optional<std::chrono::seconds> retry_after() const;
};

enum class Take : std::uint8_t { more, enough, failed };

struct FetchRequest {
  std::string url = {};
  std::string token = {};           // sent to the host and port of `url` only; empty: none
  std::optional<Range> range = {};  // of the file, in bytes
  std::optional<std::string> accept = {};
  bool head_only = false;
  bool fresh_connection = false;
  std::size_t max_body = 16 << 20;  // bytes of a kept response
  // Gets the body of a 200 or 206 piece by piece, on the loop; it must not throw. Without a sink the body is kept.
  std::function<Take(const FetchHead&, std::string_view)> sink = {};
};

struct FetchAnswer {
  FetchHead head = {};
  std::string body = {};  // the body without a sink; of failures the beginning
  Fault fault = Fault::none;
  std::string detail = {};
  bool address_refused = false;  // failed, and an address of the host was refused (CurlOptions::may_connect)
  bool too_many_redirects = false;

  // For Attempts; the caller sets `received`.
  Outcome outcome(const FetchRequest& request) const;
};

class Fetcher {
 public:
  virtual ~Fetcher() = default;
  // Throws only on cancellation, which closes the connection. Follows redirects.
  virtual async::Task<FetchAnswer> fetch(FetchRequest request) = 0;
};

}  // namespace corral::downloads
