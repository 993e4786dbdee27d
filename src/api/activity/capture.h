// The captured bodies of one request and its answer: bounded in size, without headers (so they contain no API key), and
// without the values of secrets.
//
// Removed are the values of members with names of secrets (api_key, password, token, secret, …), also in texts
// that are JSON, such as arguments of tools. Removed are pieces of such texts, too, because their members are unknown.
// A secret in plain text stays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/handler.h"

namespace corral::api {

// Of one body. Of a longer body only the length is kept, because half a document can't be searched for secrets.
inline constexpr std::size_t kLongestCapture = 1 << 20;

class CapturedText {
 public:
  void add(std::string_view piece);
  std::uint64_t bytes() const { return bytes_; }
  bool whole() const { return bytes_ == text_.size(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::uint64_t bytes_ = 0;
};

// Written on the loop of its connection, read afterwards.
struct Capture {
  CapturedText request, answer;
  std::string answer_type;

  // Memory of the captured bodies.
  std::uint64_t bytes() const { return request.text().size() + answer.text().size(); }
  // {"request","request_bytes","answer","answer_bytes","answer_type"}: each body is a value, a list of a stream's
  // values, or null if it is too long or has an unknown format. Slow for large bodies.
  std::string document() const;
};

// The same answer; its bytes are copied. `note` is released after its last byte.
http::Response captured(http::Response answer, std::shared_ptr<Capture> into, std::shared_ptr<const void> note);

// The JSON text without secrets.
std::string without_secrets(std::string_view text);

}  // namespace corral::api
