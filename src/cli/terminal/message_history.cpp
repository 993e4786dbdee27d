#include "cli/terminal/message_history.h"

#include <algorithm>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "base/state_file.h"
#include "base/unique_fd.h"

namespace corral::cli {
namespace {

constexpr std::size_t kLargestFile = std::size_t{4} * 1024 * 1024;
constexpr std::size_t kShortened = kLargestFile / 2;
constexpr std::size_t kLargestRead = 32 * kLargestFile;

}  // namespace

std::string as_history_line(std::string_view message) {
  std::string line;
  for (const char c : message) {
    if (c == '\n') {
      line += "\\n";
    } else {
      if (c == '\\') line += c;
      line += c;
    }
  }
  return line;
}

std::string from_history_line(std::string_view line) {
  std::string message;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escaped = line[i] == '\\' && i + 1 < line.size();
    if (escaped) ++i;
    message += escaped && line[i] == 'n' ? '\n' : line[i];
  }
  return message;
}

std::vector<std::string> MessageHistory::read() const {
  if (file_.empty()) return {};
  const auto text = read_state_file(file_, kLargestRead);
  if (!text || !*text) return {};
  std::vector<std::string_view> lines;
  for (std::string_view rest = **text; !rest.empty();) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) break;  // cut off
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  if (lines.size() > kMaxMessages) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMaxMessages));
  std::vector<std::string> messages;
  for (const std::string_view line : lines) messages.push_back(from_history_line(line));
  if ((*text)->size() > kLargestFile) {
    std::size_t size = 0;
    const auto newest = std::ranges::find_if(
        lines.rbegin(), lines.rend(), [&](std::string_view line) { return (size += line.size() + 1) > kShortened; });
    std::string shorter;
    for (auto line = newest.base(); line != lines.end(); ++line) (shorter += *line) += '\n';
    (void)write_state_file(file_, shorter);
  }
  return messages;
}

void MessageHistory::add(std::string_view message) const {
  if (file_.empty() || message.empty() || message.size() > kLongest) return;
  std::error_code failed;
  std::filesystem::create_directories(file_.parent_path(), failed);
  constexpr mode_t kOwnerOnly = 0600;
  const UniqueFd file(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kOwnerOnly));
  if (file.get() < 0) return;
  // One write: lines of several programs don't mix.
  const std::string line = as_history_line(message) + '\n';
  [[maybe_unused]] const auto written = ::write(file.get(), line.data(), line.size());
}

}  // namespace corral::cli
