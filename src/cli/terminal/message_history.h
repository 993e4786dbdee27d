// Messages of earlier chats, in a file of the user: one line each, the newest last. Several programs may add to it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corral::cli {

// Line ends and backslashes of a message are written as \n and \\.
std::string as_history_line(std::string_view message);
std::string from_history_line(std::string_view line);

class MessageHistory {
 public:
  static constexpr std::size_t kMaxMessages = 1000;                // messages
  static constexpr std::size_t kLongest = std::size_t{64} * 1024;  // bytes of a message; longer ones aren't kept

  // An empty path: nothing is kept.
  explicit MessageHistory(std::filesystem::path file) : file_(std::move(file)) {}

  // The newest kMaxMessages messages. A much longer file is shortened. A file that can't be read: none.
  std::vector<std::string> read() const;
  // Adds a message; only the user may read the file. What can't be written is lost.
  void add(std::string_view message) const;

 private:
  const std::filesystem::path file_;
};

}  // namespace corral::cli
