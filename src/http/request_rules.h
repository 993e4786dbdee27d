// Rules for request heads beyond syntax, so that all programs on the path read the same message (RFC 9112 §3.2, §6).
// Pure functions; safe on every thread.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/message.h"

namespace corral::http {

// The end of the body must be given in one way only: by Content-Length, or by the one transfer coding "chunked".
//   errc::malformed       both, an empty list, chunked twice or not last, any coding in HTTP/1.0
//   errc::unknown_coding  another coding
// `version` is 10 or 11; `chunked` is what the parser took it for.
Result<> check_framing(const Headers& headers, int version, bool chunked);

// HTTP/1.1 needs exactly one Host with a name; older clients may omit it. errc::malformed.
Result<> check_host(const Headers& headers, int version);

// "GET http://host/path" -> "/path", and host replaces the field Host. Other forms than a path and, for OPTIONS, "*"
// are errc::malformed.
Result<> take_target(RequestHead& head);

// How a body may be encoded (RFC 9110 §8.4).
enum class ContentCoding { gzip, deflate, zstd };
// For the field Accept-Encoding.
inline constexpr std::string_view kContentCodings = "gzip, deflate, zstd";

// What Content-Encoding names, in the order in which it was applied; without "identity". errc::unsupported_encoding:
// another coding, or more than three.
Result<std::vector<ContentCoding>> content_codings(const Headers& headers);

}  // namespace corral::http
