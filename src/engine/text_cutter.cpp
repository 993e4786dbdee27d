#include "engine/text_cutter.h"

#include <algorithm>

#include "base/utf8.h"

namespace corral::engine {

TextCutter::TextCutter(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

TextCutter::Cut TextCutter::push(std::string_view piece) {
  pending_ += piece;
  ends_.push_back(pending_.size());
  if (Match match = find_stop(); match.at != std::string::npos) {
    // Kept: tokens before the first one that begins in (or behind) the stop string and has bytes of it.
    std::size_t kept = oldest_shown_ ? 1 : 0, begin = oldest_shown_ ? ends_.front() : 0;
    while (kept < ends_.size() && (begin < match.at || ends_[kept] <= match.at)) begin = ends_[kept++];
    Cut cut;
    cut.text = valid_utf8(std::string_view(pending_).substr(0, match.at));
    cut.released = static_cast<std::uint32_t>(kept);
    cut.dropped = static_cast<std::uint32_t>(ends_.size() - kept);
    cut.stopped = true;
    cut.stop = std::move(match.stop);
    pending_.clear();
    ends_.clear();
    oldest_shown_ = false;
    return cut;
  }
  return release(std::min(complete_utf8_length(pending_), open_stop_start()));
}

TextCutter::Cut TextCutter::flush() {
  Cut cut;
  cut.text = valid_utf8(std::string_view(pending_).substr(0, complete_utf8_length(pending_)));
  cut.released = held();
  pending_.clear();
  ends_.clear();
  oldest_shown_ = false;
  return cut;
}

TextCutter::Match TextCutter::find_stop() const {
  Match best;
  for (const std::string& stop : stops_) {
    const std::size_t at = pending_.find(stop);
    if (at < best.at) best = {at, stop};
  }
  return best;
}

// Where the earliest suffix of the pending bytes begins that is a proper prefix of a stop string.
std::size_t TextCutter::open_stop_start() const {
  std::size_t earliest = pending_.size();
  for (const std::string& stop : stops_) {
    for (std::size_t length = std::min(stop.size() - 1, pending_.size()); length > 0; --length) {
      if (std::string_view(pending_).ends_with(std::string_view(stop).substr(0, length))) {
        earliest = std::min(earliest, pending_.size() - length);
        break;
      }
    }
  }
  return earliest;
}

TextCutter::Cut TextCutter::release(std::size_t bytes) {
  // A stop string may begin inside a character's bytes; text leaves in whole characters.
  bytes = std::min(bytes, complete_utf8_length(std::string_view(pending_).substr(0, bytes)));
  Cut cut;
  cut.text = valid_utf8(std::string_view(pending_).substr(0, bytes));
  std::size_t begin = 0;  // of the oldest held token
  while (cut.released < ends_.size() && ends_[cut.released] <= bytes) begin = ends_[cut.released++];
  if (cut.released > 0) oldest_shown_ = false;
  ends_.erase(ends_.begin(), ends_.begin() + cut.released);
  oldest_shown_ = !ends_.empty() && (oldest_shown_ || begin < bytes);
  pending_.erase(0, bytes);
  for (std::size_t& end : ends_) end -= bytes;
  return cut;
}

}  // namespace corral::engine
