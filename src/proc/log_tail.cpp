#include "proc/log_tail.h"

#include <algorithm>

#include "base/utf8.h"

namespace corral::proc {
namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";  // …

bool is_control(unsigned char byte) { return (byte < 0x20 && byte != '\t') || byte == 0x7F; }

}  // namespace

std::string clean_text(std::string_view bytes) {
  std::string clean;
  clean.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const Utf8Step step = utf8_step(bytes.substr(i));
    if (!step.valid || is_control(static_cast<unsigned char>(bytes[i]))) {
      clean += kReplacementCharacter;
      ++i;
    } else {
      clean.append(bytes, i, step.length);
      i += step.length;
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
  if (cut_) line = line.substr(0, complete_utf8_length(line));
  auto clean = clean_text(line);
  if (cut_) clean += kEllipsis;
  pending_.clear();
  cut_ = false;
  return clean;
}

}  // namespace corral::proc
