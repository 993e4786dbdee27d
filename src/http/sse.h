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
inline constexpr std::string_view kSsePing = ": ping\n\n";

// Whole events say more than comments, such as pings, do.
bool says_something(std::string_view events);

// Splits a byte stream into events; calls back with name ("" by default) and data of each, and for each comment if
// somebody wants to know.
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

// Cuts a byte stream behind whole events (which end with "\n\n", as all here), so that an event of somebody else can
// follow what was given out.
class SseEventCutter {
 public:
  // The events that are whole by now and weren't given out; valid until the next call.
  std::string_view feed(std::string_view bytes);
  // What has come of the next one.
  std::string take_rest() { return std::exchange(rest_, {}); }

 private:
  std::string rest_;
  std::string whole_;
};

// Watches a byte stream for its last event being kSseDone: what breaks off behind that has lost nothing.
class SseDoneWatch {
 public:
  void feed(std::string_view bytes);
  bool done() const { return tail_ == kSseDone; }

 private:
  std::string tail_;  // the latest bytes, as many as kSseDone has
};

}  // namespace corral::http
