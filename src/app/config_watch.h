// Tells when a file may have been written: by whoever closed it after writing, or put another one in its place. Its
// folder is what is watched, since editors replace files. That it is deleted is no news: many delete before they write.
// Where its path leads over symbolic links, the folder of each of them and of the file at the end are watched, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "async/task.h"

namespace corral::app {

// On one loop.
class ConfigWatch {
 public:
  // The log says which folder can't be watched.
  ConfigWatch(async::Executor executor, const std::filesystem::path& file);

  // Returns true when the file may have another content than before. False: there is nothing to wait for.
  async::Task<bool> changed();

 private:
  struct Stamp {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static Stamp stamp_of(const std::filesystem::path& file);
  // Of a folder that isn't there, the nearest one above: it may come. Again after each change, since links may lead
  // elsewhere then. Returns what failed, as errno, or 0.
  int watch_folder(const std::filesystem::path& folder);
  bool names_the_file(std::span<const char> events) const;

  const std::filesystem::path file_;
  Stamp stamp_;
  std::optional<async::asio::posix::basic_stream_descriptor<async::Executor>> events_;
};

}  // namespace corral::app
