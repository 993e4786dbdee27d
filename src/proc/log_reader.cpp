#include "proc/log_reader.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace corral::proc {
namespace {

constexpr off_t kMaxLogBytes = 256 * 1024;  // of the lines of one read()
constexpr std::size_t kLogPiece = 64 * 1024;

}  // namespace

LogReader::LogReader(std::filesystem::path path, std::size_t lines) : path_(std::move(path)), first_lines_(lines) {}

std::vector<std::string> LogReader::read() {
  if (!file_ && !open()) return {};
  if (!begun_) {
    const auto end = ::lseek(file_.get(), 0, SEEK_END);
    const auto start = std::max<off_t>(0, end - kMaxLogBytes);
    ::lseek(file_.get(), start, SEEK_SET);
    while (static_cast<off_t>(rest_.size()) < kMaxLogBytes && read_piece()) continue;
    begun_ = true;
    // Such a line lacks its beginning.
    if (start > 0) rest_.erase(0, rest_.find('\n') + 1);
    auto lines = take_lines();
    if (lines.size() > first_lines_)
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(first_lines_));
    return lines;
  }
  auto lines = next_lines();
  if (!lines.empty() || !is_renamed()) return lines;
  // A renamed file is read to its end first: it may have got lines after the read above.
  lines = next_lines();
  if (lines.empty() && open()) {
    rest_.clear();
    lines = next_lines();
  }
  return lines;
}

std::vector<std::string> LogReader::next_lines() {
  while (static_cast<off_t>(rest_.size()) < kMaxLogBytes && read_piece()) continue;
  return take_lines();
}

bool LogReader::open() {
  UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return false;
  file_ = std::move(file);
  return true;
}

bool LogReader::is_renamed() const {
  struct stat ours{}, there{};
  return ::fstat(file_.get(), &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
         (ours.st_ino != there.st_ino || ours.st_dev != there.st_dev);
}

// False: the file has no more for now.
bool LogReader::read_piece() {
  const auto old = rest_.size();
  rest_.resize(old + kLogPiece);
  const auto count = ::read(file_.get(), rest_.data() + old, kLogPiece);
  rest_.resize(old + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count > 0;
}

std::vector<std::string> LogReader::take_lines() {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    lines.push_back(rest_.substr(begin, end - begin));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  // Not one of our files: they have short lines.
  if (static_cast<off_t>(rest_.size()) >= kMaxLogBytes) lines.push_back(std::exchange(rest_, {}));
  return lines;
}

}  // namespace corral::proc
