// The visible state of a download, and the state that the next process takes over. Plain values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "downloads/download.h"

namespace corral::downloads {

enum class DownloadState : std::uint8_t { queued, running, paused, done, failed, cancelled };
std::string_view name_of(DownloadState state);

struct DownloadView {
  std::uint64_t id = 0;
  std::string name = {};  // the requested name
  DownloadState state = DownloadState::queued;
  std::string repo = {};                 // the repository; empty like `files`
  std::vector<FileView> files = {};      // empty until the hub has sent the list
  std::optional<Error> error = {};       // of a failed download
  std::filesystem::path main_file = {};  // the file that gets its name last; empty like `files`

  std::uint64_t bytes() const;
  std::uint64_t bytes_done() const;
  std::uint64_t bytes_before() const;  // bytes on the disk when it started to run
};

// A download of an earlier process.
struct EarlierDownload {
  std::string name = {};
  bool paused = false;
  std::string repo = {};             // checked (names.h); empty: its files are unknown
  std::vector<FileView> files = {};  // path, size and oid, checked
  std::optional<Error> error = {};   // its failure, if it failed
};

}  // namespace corral::downloads
