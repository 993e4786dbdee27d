#include "cli/terminal/line_input.h"

#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace corral::cli {

StandardInput::More StandardInput::read_more() {
  while (true) {
    std::array waits = {pollfd{fd_, POLLIN, 0}, pollfd{interrupts_.fd(), POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return More::end;
    }
    if (waits[1].revents != 0 && interrupts_.take()) return More::interrupted;
    if (waits[0].revents == 0) continue;
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(fd_, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return More::end;
    pending_.append(buffer.data(), static_cast<std::size_t>(count));
    return More::yes;
  }
}

StandardInput::More StandardInput::read_byte(char& byte) {
  if (pending_.empty()) {
    if (const More more = read_more(); more != More::yes) return more;
  }
  byte = pending_.front();
  pending_.erase(0, 1);
  return More::yes;
}

InputLine StandardInput::read_line() {
  std::size_t searched = 0;
  while (true) {
    const auto end = pending_.find('\n', searched);
    if (end != std::string::npos) {
      InputLine line{InputLine::Kind::line, pending_.substr(0, end)};
      pending_.erase(0, end + 1);
      if (line.text.ends_with('\r')) line.text.pop_back();
      return line;
    }
    searched = pending_.size();
    switch (read_more()) {
      case More::yes:
        break;
      case More::interrupted:
        pending_.clear();
        return {InputLine::Kind::interrupted, {}};
      case More::end:
        if (pending_.empty()) return {InputLine::Kind::end, {}};
        return {InputLine::Kind::line, std::exchange(pending_, {})};
    }
  }
}

InputLine StandardInput::read_all() {
  while (true) {
    switch (read_more()) {
      case More::yes:
        break;
      case More::interrupted:
        return {InputLine::Kind::interrupted, {}};
      case More::end:
        return {InputLine::Kind::line, std::exchange(pending_, {})};
    }
  }
}

bool StandardInput::is_piped() const {
  struct stat status{};
  return ::fstat(fd_, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode));
}

}  // namespace corral::cli
