#include "engine/sample/stop_string_filter.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace corral::engine {

StopStringFilter::Stop::Stop(std::string text) : text_(std::move(text)), shorter_(text_.size(), 0) {
  for (std::size_t i = 1; i < text_.size(); ++i) {
    std::uint32_t length = shorter_[i - 1];
    while (length > 0 && text_[length] != text_[i]) length = shorter_[length - 1];
    shorter_[i] = text_[length] == text_[i] ? length + 1 : 0;
  }
}

std::size_t StopStringFilter::Stop::meet(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    while (open_ > 0 && text_[open_] != bytes[i]) open_ = shorter_[open_ - 1];
    if (text_[open_] == bytes[i] && ++open_ == text_.size()) return i + 1;
  }
  return std::string_view::npos;
}

StopStringFilter::StopStringFilter(std::vector<std::string> stops) {
  for (std::string& stop : stops) {
    if (!stop.empty()) stops_.emplace_back(std::move(stop));
  }
}

StopStringFilter::Cut StopStringFilter::push(std::string_view piece) {
  const Match match = find_stop(piece);
  bytes_ += piece;
  ends_.push_back(end());
  if (match.stop == nullptr) return release(std::min(start_ + complete_utf8_length(pending()), open_stop_start()));
  // Keeps tokens before the first one that begins in (or behind) the stop string and has bytes of it.
  const std::span<const std::uint64_t> ends = held_ends();
  std::size_t kept = oldest_shown_ ? 1 : 0;
  std::uint64_t begin = oldest_shown_ ? ends.front() : start_;
  while (kept < ends.size() && (begin < match.at || ends[kept] <= match.at)) begin = ends[kept++];
  Cut cut;
  cut.text = valid_utf8(pending().substr(0, match.at - start_));
  cut.released = static_cast<std::uint32_t>(kept);
  cut.dropped = static_cast<std::uint32_t>(ends.size() - kept);
  cut.stopped = true;
  cut.stop = match.stop->text();
  forget();
  return cut;
}

StopStringFilter::Cut StopStringFilter::flush() {
  Cut cut;
  cut.text = valid_utf8(pending().substr(0, complete_utf8_length(pending())));
  cut.released = held();
  forget();
  return cut;
}

void StopStringFilter::forget() {
  start_ = end();
  bytes_.clear();
  given_ = 0;
  ends_.clear();
  let_go_ = 0;
  oldest_shown_ = false;
  for (Stop& stop : stops_) stop.forget();
}

// The match that begins first; of equals, the first in the list.
StopStringFilter::Match StopStringFilter::find_stop(std::string_view piece) {
  Match best;
  for (Stop& stop : stops_) {
    const std::size_t taken = stop.meet(piece);
    if (taken == std::string_view::npos) continue;
    const std::uint64_t at = end() + taken - stop.text().size();
    if (at < best.at) best = {at, &stop};
  }
  return best;
}

// Start of the longest end of the text that is a prefix of a stop string.
std::uint64_t StopStringFilter::open_stop_start() const {
  std::size_t longest = 0;
  for (const Stop& stop : stops_) longest = std::max(longest, stop.open());
  return end() - longest;
}

StopStringFilter::Cut StopStringFilter::release(std::uint64_t to) {
  // A stop string may begin inside a character; only whole characters are released.
  const std::size_t bytes = complete_utf8_length(pending().substr(0, to - start_));
  Cut cut;
  cut.text = valid_utf8(pending().substr(0, bytes));
  std::uint64_t begin = start_;  // of the oldest held token, or of its unreleased part
  start_ += bytes;
  given_ += bytes;
  for (; held() > 0 && held_ends().front() <= start_; ++cut.released) begin = ends_[let_go_++];
  if (cut.released > 0) oldest_shown_ = false;
  oldest_shown_ = held() > 0 && (oldest_shown_ || begin < start_);
  // Move the rest only if at least as much was released.
  if (given_ > bytes_.size() / 2) {
    bytes_.erase(0, given_);
    given_ = 0;
  }
  if (let_go_ > ends_.size() / 2) {
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(let_go_));
    let_go_ = 0;
  }
  return cut;
}

}  // namespace corral::engine
