// Files that go with a message: pictures and sounds as they are, texts as part of it. They are read at once, in a few
// system calls.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/server/reply_parser.h"

namespace corral::cli {

// A message that isn't complete.
struct Draft {
  std::string texts;  // of files
  std::vector<Attachment> attachments;

  bool empty() const { return texts.empty() && attachments.empty(); }
};

// Adds a file. Errors: usage for a missing, empty or too large one, and for other kinds of files.
Result<> attach(const std::string& file, Draft& draft);
// The same for a file that must be a picture.
Result<> attach_picture(const std::string& file, Draft& draft);

}  // namespace corral::cli
