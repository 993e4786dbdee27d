// Looks at files of models without blocking the loop: a disk that is gone (a network mount, say) answers no stat() for
// hours. The looking is done where it may block; here only waits who asked.
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

// What tells one state of a file from another.
struct FileState {
  bool regular = false;
  bool gguf = false;                // begins as one
  std::filesystem::path real = {};  // what it is called once all links are followed
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t changed = 0;  // in ticks of the file system's clock
  bool operator==(const FileState&) const = default;
};

struct FilesOptions {
  // Runs work where it may block for long.
  std::function<void(std::move_only_function<void()>)> offload;
  Millis patience{30'000};  // with a file that gives no answer
};

// The files that load options name, each with the option's key.
struct NamedFile {
  std::string_view option;
  std::filesystem::path path;
  std::string text;  // as it was given
};
std::vector<NamedFile> named_files(const LoadOptions& options);

// On the home loop.
class Files {
 public:
  // What `timers` and `offload` use must outlive the answers: nobody waits for a look under way when this ends.
  Files(async::Executor home, async::Timers& timers, FilesOptions options);

  // Looks at all of them; those that somebody looks at already are looked at once. Error: files_silent, when one gives
  // no answer. May be cancelled at any time.
  async::Task<Result<>> look(std::vector<std::filesystem::path> paths);
  // Whether a request that may not name any file of the machine may name these: GGUF files in one of the folders, which
  // may be files themselves, with all links followed. One answer for whatever is wrong, so that nobody learns what
  // there is elsewhere. Errors: invalid_option with the option as its param, files_silent.
  async::Task<Result<>> check_places(std::vector<NamedFile> named, std::vector<std::filesystem::path> folders);
  // As of the last look that got an answer. None: it wasn't there.
  std::optional<FileState> seen(const std::filesystem::path& path) const;
  // A text that tells this state of all of them, as they were last seen, from any other.
  std::string state_key(std::span<const std::filesystem::path> paths) const;
  // The same as a number; 0: one of them wasn't there, or nobody has looked.
  std::uint64_t state_of(std::span<const std::filesystem::path> paths) const;

 private:
  struct State {
    // Clients may name one file in many ways, so what was seen is forgotten in time: `seen` becomes `earlier`.
    std::map<std::filesystem::path, FileState> seen, earlier;
    std::map<std::filesystem::path, std::shared_ptr<async::Event>> looking;
  };
  std::shared_ptr<async::Event> start(const std::filesystem::path& path);

  const async::Executor home_;
  async::Timers& timers_;
  const FilesOptions options_;
  const std::shared_ptr<State> state_;  // an answer that comes too late finds nobody
};

}  // namespace corral::backends
