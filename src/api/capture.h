// What one request and its answer said, for whoever has switched captures on: bounded, without heads (so no key is in
// it), and with the values of secrets struck out.
//
// What is struck: values of members whose names say that they are secrets (api_key, password, token, secret, …), also
// in texts that are JSON themselves, such as arguments of tools; and pieces of such texts, of which nobody knows what
// they are. A secret in plain text, which nothing names, stays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/handler.h"

namespace corral::api {

// Of one body; of a longer one only its length is kept, as half a document can't be searched.
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

// Written on the loop of its connection, and read after that.
struct Capture {
  CapturedText request, answer;
  std::string answer_type;

  // For the memory that it takes.
  std::uint64_t bytes() const { return request.text().size() + answer.text().size(); }
  // {"request","request_bytes","answer","answer_bytes","answer_type"}: each a value, a list of a stream's values, or
  // null where it is too long or none of what is known. Takes its time.
  std::string document() const;
};

// The same answer; what goes out of it is copied. `note` goes with its last byte.
http::Response captured(http::Response answer, std::shared_ptr<Capture> into, std::shared_ptr<const void> note);

// A JSON text without secrets.
std::string without_secrets(std::string_view text);

}  // namespace corral::api
