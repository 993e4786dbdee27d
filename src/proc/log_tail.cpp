#include "proc/log_tail.h"

#include <algorithm>
#include <cstdint>

namespace corral::proc {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";     // …

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// Length of the well-formed UTF-8 character at `i`, 0 if there is none (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto lead = byte_at(text, i);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || i + length > text.size()) return 0;
  // The second byte has the narrower ranges: no overlong forms, no surrogates, nothing past U+10FFFF.
  const auto second = byte_at(text, i + 1);
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return 0;
  for (std::size_t k = 2; k < length; ++k) {
    if ((byte_at(text, i + k) & 0xC0) != 0x80) return 0;
  }
  return length;
}

bool is_control(unsigned char byte) { return (byte < 0x20 && byte != '\t') || byte == 0x7F; }

// Bytes at the end that begin a character without ending it (a cut went through it).
std::size_t broken_end(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = byte_at(text, text.size() - back);
    if ((byte & 0xC0) == 0x80) continue;
    return byte >= 0xC2 && utf8_length(text, text.size() - back) == 0 ? back : 0;
  }
  return 0;
}

}  // namespace

std::string clean_text(std::string_view bytes) {
  std::string clean;
  clean.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const auto length = utf8_length(bytes, i);
    if (length == 0 || is_control(byte_at(bytes, i))) {
      clean += kReplacement;
      ++i;
    } else {
      clean.append(bytes, i, length);
      i += length;
    }
  }
  return clean;
}

void LogTail::add(std::string line) {
  bytes_ += line.size();
  lines_.push_back(std::move(line));
  while (!lines_.empty() && (lines_.size() > limits_.lines || bytes_ > limits_.bytes)) {
    bytes_ -= lines_.front().size();
    lines_.pop_front();
  }
}

std::string LogTail::text(std::size_t count) const {
  std::string text;
  for (std::size_t i = lines_.size() - std::min(count, lines_.size()); i < lines_.size(); ++i) {
    if (!text.empty()) text += '\n';
    text += lines_[i];
  }
  return text;
}

void LineSplitter::feed(std::string_view bytes, const std::function<void(std::string)>& take) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    keep(bytes.substr(0, end));
    take(take_line());
    bytes.remove_prefix(end + 1);
  }
  keep(bytes);
}

void LineSplitter::finish(const std::function<void(std::string)>& take) {
  if (!pending_.empty()) take(take_line());
}

void LineSplitter::keep(std::string_view part) {
  while (!part.empty()) {
    const auto end = part.find('\r');
    const auto piece = part.substr(0, end);
    // A carriage return may belong to "\r\n": it stays until the next text shows that the line begins anew.
    if (!piece.empty() && pending_.ends_with('\r')) {
      pending_.clear();
      cut_ = false;
    }
    const auto room = line_bytes_ - std::min(line_bytes_, pending_.size());
    pending_ += piece.substr(0, room);
    cut_ = cut_ || piece.size() > room;
    if (end == std::string_view::npos) return;
    if (!pending_.empty() && !pending_.ends_with('\r')) pending_ += '\r';
    part.remove_prefix(end + 1);
  }
}

std::string LineSplitter::take_line() {
  std::string_view line = pending_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (cut_) line.remove_suffix(broken_end(line));
  auto clean = clean_text(line);
  if (cut_) clean += kEllipsis;
  pending_.clear();
  cut_ = false;
  return clean;
}

}  // namespace corral::proc
