// Conversations in files of the user, one for each name.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/chat/chat.h"

namespace corral::cli {

class SavedChats {
 public:
  explicit SavedChats(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Replaces one of that name. Errors: usage for a name that is no file name; system errors.
  Result<> save(const std::string& name, const ChatState& chat) const;
  // Errors: the same; usage if there is none of that name, or its file is damaged.
  Result<ChatState> load(const std::string& name) const;
  // In alphabetical order.
  std::vector<std::string> names() const;

 private:
  Result<std::filesystem::path> file_of(const std::string& name) const;

  const std::filesystem::path folder_;
};

}  // namespace corral::cli
