#include "http/sse.h"

#include <algorithm>

namespace corral::http {

std::string sse_data(std::string_view payload) {
  std::string out;
  out.reserve(payload.size() + 8);
  return out.append("data: ").append(payload).append("\n\n");
}

std::string sse_event(std::string_view name, std::string_view payload) {
  std::string out;
  out.reserve(name.size() + payload.size() + 17);
  return out.append("event: ").append(name).append("\ndata: ").append(payload).append("\n\n");
}

void append_sse_event(std::string& out, std::uint64_t number, std::string_view name, std::string_view payload) {
  out.append("id: ").append(std::to_string(number)).append("\nevent: ").append(name);
  out.append("\ndata: ").append(payload).append("\n\n");
}

bool has_events(std::string_view events) {
  while (!events.empty()) {
    const char first = events.front();
    if (first != ':' && first != '\n' && first != '\r') return true;
    const auto end = events.find('\n');
    if (end == std::string_view::npos) break;
    events.remove_prefix(end + 1);
  }
  return false;
}

std::string_view SseLineEnds::feed(std::string_view bytes) {
  if (bytes.empty()) return bytes;
  if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
  after_return_ = bytes.ends_with('\r');
  if (!bytes.contains('\r')) return bytes;
  changed_.clear();
  while (!bytes.empty()) {
    const auto end = std::min(bytes.find('\r'), bytes.size());
    changed_.append(bytes.substr(0, end));
    bytes.remove_prefix(end);
    if (bytes.empty()) break;
    changed_.push_back('\n');
    bytes.remove_prefix(bytes.starts_with("\r\n") ? 2 : 1);
  }
  return changed_;
}

void SseParser::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) {
      pending_.append(bytes);
      return;
    }
    pending_.append(bytes.substr(0, end));
    if (pending_.ends_with('\r')) pending_.pop_back();
    line(pending_);
    pending_.clear();
    bytes.remove_prefix(end + 1);
  }
}

void SseParser::line(std::string_view text) {
  if (text.empty()) {
    if (has_data_) sink_(event_, data_);
    event_.clear();
    data_.clear();
    has_data_ = false;
    return;
  }
  const auto colon = text.find(':');
  if (colon == 0) {  // a comment, such as a ping
    if (comment_) comment_();
    return;
  }
  const auto field = text.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_ = value;
  if (field == "data") {
    if (has_data_) data_.push_back('\n');
    data_.append(value);
    has_data_ = true;
  }
}

std::string_view SseEventCutter::feed(std::string_view bytes) {
  constexpr std::string_view kEnd = "\n\n";
  const auto cut_behind = [kEnd](std::string_view text) {
    const auto last = text.rfind(kEnd);
    return last == std::string_view::npos ? 0 : last + kEnd.size();
  };
  if (rest_.empty()) {  // usually events come whole
    const auto cut = cut_behind(bytes);
    rest_ = bytes.substr(cut);
    return bytes.substr(0, cut);
  }
  const auto before = rest_.size() - 1;  // the end may be split over two calls
  rest_.append(bytes);
  const auto cut = cut_behind(std::string_view(rest_).substr(before));
  if (cut == 0) return {};
  whole_.assign(rest_, 0, before + cut);
  rest_.erase(0, before + cut);
  return whole_;
}

void SseDoneWatch::feed(std::string_view bytes) {
  if (bytes.size() >= kSseDone.size()) {
    tail_ = bytes.substr(bytes.size() - kSseDone.size());
    return;
  }
  tail_.append(bytes);
  if (tail_.size() > kSseDone.size()) tail_.erase(0, tail_.size() - kSseDone.size());
}

}  // namespace corral::http
