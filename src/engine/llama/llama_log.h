// libllama's and ggml's log, which is one per process: cut into lines, handed on, and remembered for the cause of a
// failure.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "engine/llama/backends.h"

namespace corral::engine {

// Sets libllama's log call-back; once, before anything else is done with it.
void install_llama_log();

// Remembers the warnings and errors logged while it lives (by any thread: loads in parallel may see each other's).
// Warnings are told only where no error was logged: what a vocabulary looks like is no reason why a load has failed.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // The last few lines, joined; empty if there were none.
  std::string text() const;
  std::string text_or(std::string_view otherwise) const;
  // An allocation has failed: libllama tells the cause of a failure in its log only.
  bool speaks_of_memory() const;
  void add(std::string line, bool error);

 private:
  static constexpr std::size_t kKept = 4;
  mutable std::mutex mutex_;
  std::vector<std::string> errors_, warnings_;
};

}  // namespace corral::engine
