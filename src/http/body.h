// Message bodies are pulled: the reader requests the next piece, so a slow reader slows its writer (back-pressure), and
// destroying a source cancels its producer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.h"
#include "base/error.h"

namespace corral::http {

class BodySource {
 public:
  virtual ~BodySource() = default;
  // The next piece, empty at the end. The view is valid until the next call or the end of the source. Errors:
  // errc::truncated, too_large, timed_out, peer_closed, or those of the producer.
  virtual async::Task<Result<std::string_view>> read() = 0;
  // A piece that is available without waiting; empty: none. Lets a writer send it with the head.
  virtual std::string_view take_ready() { return {}; }
  // Ends it from outside, on its loop: a running read() fails soon, later ones too.
  virtual void abort() {}
  // Total bytes, if known before reading.
  virtual std::optional<std::uint64_t> length() const { return std::nullopt; }
};

// Either a complete text or a source to pull from.
class Body {
 public:
  Body() = default;
  Body(std::string text) : text_(std::move(text)) {}
  Body(const char* text) : text_(text) {}
  Body(std::unique_ptr<BodySource> source) : source_(std::move(source)) {}

  bool streaming() const { return source_ != nullptr; }
  const std::string& text() const { return text_; }
  std::string& text() { return text_; }
  BodySource* source() { return source_.get(); }
  std::unique_ptr<BodySource> take_source() { return std::move(source_); }

  // The whole body. errc::too_large beyond `limit` bytes. Call it once.
  async::Task<Result<std::string>> read_all(std::uint64_t limit);

 private:
  std::string text_;
  std::unique_ptr<BodySource> source_;
};

}  // namespace corral::http
