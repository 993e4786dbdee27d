// The descriptors and the models of `backends.d` and `models.toml`, read at the start and again after changes. If a
// changed file can't be read or isn't valid TOML, what it said before stays in force, and its error is a problem.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backends/external/known_backends.h"
#include "base/mutex.h"

namespace corral::app {

class BackendSettings {
 public:
  // Reads the files of `folder`; empty: only built-in descriptors. Blocking.
  explicit BackendSettings(std::filesystem::path folder);

  // On any thread.
  std::shared_ptr<const backends::KnownBackends> known() const;
  // Errors of the files, and keys without effect. On any thread.
  std::vector<std::string> problems() const;
  // Reads the files again, and logs problems that weren't there before; one call after the other. Blocking, on any
  // thread.
  void reread();

  const std::filesystem::path& folder() const { return folder_; }

 private:
  const std::filesystem::path folder_;
  Mutex rereading_;      // the last call that reads is the last one that stores
  mutable Mutex mutex_;  // held to copy or replace the pointer
  std::shared_ptr<const backends::KnownBackends> known_ GUARDED_BY(mutex_);
};

}  // namespace corral::app
