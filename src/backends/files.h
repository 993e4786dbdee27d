// Reads the state of model files without blocking the loop: stat() on a lost disk (a network mount, for example) may
// hang for hours. The calls run elsewhere; tasks here only wait for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "async/event.h"
#include "async/timer.h"
#include "backends/load_options.h"
#include "base/error.h"

namespace corral::backends {

// Distinguishes states of a file.
struct FileState {
  bool regular = false;
  bool gguf = false;                // has the magic bytes of GGUF
  std::filesystem::path real = {};  // path after all links are followed
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t changed = 0;  // in ticks of the file system's clock
  bool operator==(const FileState&) const = default;
};

struct FilesOptions {
  // Runs calls that may block for long.
  std::function<void(std::move_only_function<void()>)> offload;
  Millis patience{30'000};  // time limit of a file
};

// The files that load options name, with the option's key.
struct NamedFile {
  std::string_view option;
  std::filesystem::path path;
  std::string text;  // as it was given
};
std::vector<NamedFile> named_files(const LoadOptions& options);

// On the home loop.
class Files {
 public:
  // What `timers` and `offload` use must outlive the calls: the destructor doesn't wait for running ones.
  Files(async::Executor home, async::Timers& timers, FilesOptions options);

  // Reads the state of all of them; simultaneous calls for one file share one read. Error: files_silent if a disk
  // doesn't respond. May be cancelled at any time.
  async::Task<Result<>> look(std::vector<std::filesystem::path> paths);
  // Whether a request without the right to all files of the machine may name these: GGUF files in one of the folders
  // (or files), with all links followed. One error for all faults, so that clients can't find out which other files
  // exist. Errors: invalid_option with the option as its param, files_silent.
  async::Task<Result<>> check_places(std::vector<NamedFile> named, std::vector<std::filesystem::path> folders);
  // As of the last successful look(). Empty: it didn't exist.
  std::optional<FileState> seen(const std::filesystem::path& path) const;
  // A text that identifies this state of all of them, as last seen.
  std::string state_key(std::span<const std::filesystem::path> paths) const;
  // The same as a number; 0: one of them didn't exist, or wasn't read yet.
  std::uint64_t state_of(std::span<const std::filesystem::path> paths) const;

 private:
  struct State {
    // Clients may name one file in many ways, so entries are dropped after some time: `seen` becomes `earlier`.
    std::map<std::filesystem::path, FileState> seen, earlier;
    std::map<std::filesystem::path, std::shared_ptr<async::Event>> looking;
  };
  std::shared_ptr<async::Event> start(const std::filesystem::path& path);

  const async::Executor home_;
  async::Timers& timers_;
  const FilesOptions options_;
  const std::shared_ptr<State> state_;  // a late answer finds it gone
};

}  // namespace corral::backends
