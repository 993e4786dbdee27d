// What others see of a download, and what one process hands to the next. Plain values.
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
  std::string name = {};  // as it was asked for
  DownloadState state = DownloadState::queued;
  std::string repo = {};                 // whose folder of the cache it uses; empty like `files`
  std::vector<FileView> files = {};      // empty until the hub has said which
  std::optional<Error> error = {};       // of a failed one
  std::filesystem::path main_file = {};  // that gets its name last; empty like `files`

  std::uint64_t bytes() const;
  std::uint64_t bytes_done() const;
  std::uint64_t bytes_before() const;  // that were there when it began to run
};

// A download of an earlier process.
struct EarlierDownload {
  std::string name = {};
  bool paused = false;
  std::string repo = {};             // checked (names.h); empty: its files aren't known
  std::vector<FileView> files = {};  // path, size and oid, checked
  std::optional<Error> error = {};   // it had failed
};

}  // namespace corral::downloads
