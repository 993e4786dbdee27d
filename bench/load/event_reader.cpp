#include "event_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace corral::bench {
namespace {

bool parse_number(std::string_view text, int base, std::uint64_t& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number, base).ec == std::errc();
}

}  // namespace

bool EventReader::feed(std::string_view bytes, double now) {
  while (!bytes.empty() && state_ != State::ended) {
    switch (state_) {
      case State::head:
      case State::chunk_size:
      case State::chunk_end:
      case State::trailer:
        if (read_line(bytes) && !take_line()) return false;
        break;
      case State::chunk:
      case State::length: {
        const auto piece = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
        bytes.remove_prefix(piece.size());
        left_ -= piece.size();
        take_body(piece, now);
        if (left_ == 0) state_ = state_ == State::chunk ? State::chunk_end : State::ended;
        break;
      }
      case State::until_closed:
        take_body(bytes, now);
        bytes = {};
        break;
      case State::ended:
        break;
    }
  }
  return true;
}

void EventReader::feed_end() {
  if (state_ == State::until_closed) state_ = State::ended;
}

// True when line_ holds a whole line, without its end.
bool EventReader::read_line(std::string_view& bytes) {
  const auto end = bytes.find('\n');
  line_.append(bytes.substr(0, end));
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  if (end == std::string_view::npos) return false;
  if (line_.ends_with('\r')) line_.pop_back();
  return true;
}

bool EventReader::take_line() {
  bool fine = true;
  switch (state_) {
    case State::head:
      fine = take_head_line();
      break;
    case State::chunk_size:
      fine = parse_number(line_, 16, left_);
      state_ = left_ == 0 ? State::trailer : State::chunk;
      break;
    case State::chunk_end:
      fine = line_.empty();
      state_ = State::chunk_size;
      break;
    default:  // the trailer ends with an empty line
      if (line_.empty()) state_ = State::ended;
  }
  line_.clear();
  return fine;
}

bool EventReader::take_head_line() {
  if (status_ == 0) {
    std::uint64_t status = 0;
    if (!line_.starts_with("HTTP/1.1 ") || !parse_number(std::string_view(line_).substr(9), 10, status)) return false;
    status_ = static_cast<int>(status);
    return status_ >= 200;
  }
  if (line_.empty()) {
    state_ = chunked_       ? State::chunk_size
             : !has_length_ ? State::until_closed
             : left_ > 0    ? State::length
                            : State::ended;
    return true;
  }
  std::ranges::transform(line_, line_.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto colon = line_.find(':');
  if (colon == std::string::npos) return false;
  const auto name = std::string_view(line_).substr(0, colon);
  auto value = std::string_view(line_).substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  if (name == "transfer-encoding") chunked_ = value.contains("chunked");
  if (name == "content-type") is_stream_ = value.starts_with("text/event-stream");
  if (name == "content-length") return has_length_ = parse_number(value, 10, left_);
  return true;
}

void EventReader::take_body(std::string_view piece, double now) {
  // The empty line may be cut in two: look again at the last byte that was there.
  auto from = body_.empty() ? 0 : body_.size() - 1;
  body_.append(piece);
  if (!is_stream_) return;
  constexpr std::string_view kData = "data: ";
  std::size_t begin = 0;
  for (auto end = body_.find("\n\n", from); end != std::string::npos; end = body_.find("\n\n", begin)) {
    const auto event = std::string_view(body_).substr(begin, end - begin);
    if (event.starts_with(kData)) events_.push_back({now, std::string(event.substr(kData.size()))});
    begin = end + 2;
  }
  body_.erase(0, begin);
}

}  // namespace corral::bench
