// Reports when a file may have been written: a program closed it after writing, or moved another file to its place. It
// watches the file's folder, since editors replace files. A deletion is reported for files that may be missing
// only, since many programs delete before they write. If the path contains symbolic links, the folders of all links and
// of the final file are watched, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "async/task.h"

namespace corral::app {

// On one loop.
class ConfigWatch {
 public:
  // Logs folders that can't be watched.
  ConfigWatch(async::Executor executor, const std::filesystem::path& file);
  // Reports its deletion, too.
  static ConfigWatch of_optional(async::Executor executor, const std::filesystem::path& file);
  // Reports changes of all files of a folder that end in `.toml`, their deletion too. The folder may not exist yet.
  static ConfigWatch of_folder(async::Executor executor, const std::filesystem::path& folder);

  // Returns true after a possible change of the content. False: the file can't be watched.
  async::Task<bool> changed();

 private:
  struct Stamp {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  enum class What : std::uint8_t { file, optional_file, folder };
  ConfigWatch(async::Executor executor, const std::filesystem::path& path, What what);
  static Stamp stamp_of(const std::filesystem::path& file);
  // If the folder doesn't exist, watches its nearest existing parent, where it may appear. Called again after each
  // change, since links may have changed. Returns an errno, or 0.
  int watch_folder(const std::filesystem::path& folder);
  std::set<std::filesystem::path> folders() const;
  bool names_the_file(std::span<const char> events) const;

  const What what_;
  const std::filesystem::path file_;  // the file or the folder
  Stamp stamp_;
  std::optional<async::asio::posix::basic_stream_descriptor<async::Executor>> events_;
};

}  // namespace corral::app
