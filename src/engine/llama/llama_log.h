// libllama's and ggml's log, which is one per process: split into lines, forwarded, and kept as the cause of a failure.
#pragma once

#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/llama/backends.h"

namespace corral::engine {

// Sets libllama's log call-back; once, before anything else is done with it.
void install_llama_log();

// Collects warnings and errors that are logged while it lives, by any thread: parallel loads may see each other's
// lines. Returns warnings only if there was no error: warnings about a vocabulary are no cause of a failed load.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // The last few lines, joined; empty if there were none.
  std::string text() const;
  std::string text_or(std::string_view otherwise) const;
  // An allocation has failed: libllama reports this only in its log.
  bool speaks_of_memory() const;
  void add(std::string line, bool error);

 private:
  static constexpr std::size_t kKept = 4;
  mutable Mutex mutex_;
  std::vector<std::string> errors_ GUARDED_BY(mutex_), warnings_ GUARDED_BY(mutex_);
};

}  // namespace corral::engine
