// Server-sent events: framing on the way out, splitting on the way in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "async/timer.h"
#include "http/body.h"

namespace corral::http {

// "data: <payload>\n\n". The payload must not contain line ends (JSON on one line).
std::string sse_data(std::string_view payload);
// "event: <name>\ndata: <payload>\n\n".
std::string sse_event(std::string_view name, std::string_view payload);
// The same with "id: <number>", appended to `out`.
void append_sse_event(std::string& out, std::uint64_t number, std::string_view name, std::string_view payload);
inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";
// A comment that shows that the server still works, while a stream waits.
inline constexpr std::string_view kSsePing = ": ping\n\n";

// Whether whole events have more than comments, such as pings.
bool has_events(std::string_view events);

// Turns the line ends "\r\n" and "\r" of a byte stream into "\n", as everything here has them.
class SseLineEnds {
 public:
  // The bytes with such line ends, at once; empty: nothing is left of them. Valid until the next call, and as long as
  // `bytes`.
  std::string_view feed(std::string_view bytes);

 private:
  bool after_return_ = false;  // the last byte was '\r'
  std::string changed_;
};

// Splits a byte stream into events; calls `sink` with name ("" by default) and data of each, and `comment` for each
// comment.
class SseParser {
 public:
  using Sink = std::function<void(std::string_view event, std::string_view data)>;
  explicit SseParser(Sink sink, std::function<void()> comment = {})
      : sink_(std::move(sink)), comment_(std::move(comment)) {}
  void feed(std::string_view bytes);

 private:
  void line(std::string_view text);

  Sink sink_;
  std::function<void()> comment_;
  std::string pending_;
  std::string event_;
  std::string data_;
  bool has_data_ = false;
};

// Splits a byte stream after whole events (which end with "\n\n", as all here), so that an event of another source
// can follow.
class SseEventCutter {
 public:
  // The complete events that weren't returned yet; valid until the next call.
  std::string_view feed(std::string_view bytes);
  // The bytes of the incomplete next event.
  std::string take_rest() { return std::exchange(rest_, {}); }

 private:
  std::string rest_;
  std::string whole_;
};

// Detects that the last event of a byte stream is kSseDone: a stream that breaks off after it has lost nothing.
class SseDoneWatch {
 public:
  void feed(std::string_view bytes);
  bool done() const { return tail_ == kSseDone; }

 private:
  std::string tail_;  // the latest bytes, as many as kSseDone has
};

}  // namespace corral::http
