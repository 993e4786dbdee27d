#include "downloads/download_view.h"

namespace corral::downloads {

std::string_view name_of(DownloadState state) {
  constexpr std::string_view kNames[] = {"queued", "running", "paused", "done", "failed", "cancelled"};
  return kNames[static_cast<std::size_t>(state)];
}

std::uint64_t DownloadView::bytes() const {
  std::uint64_t sum = 0;
  for (const FileView& file : files) sum += file.size;
  return sum;
}
std::uint64_t DownloadView::bytes_done() const {
  std::uint64_t sum = 0;
  for (const FileView& file : files) sum += file.done;
  return sum;
}

std::uint64_t DownloadView::bytes_before() const {
  std::uint64_t sum = 0;
  for (const FileView& file : files) sum += file.before;
  return sum;
}

}  // namespace corral::downloads
