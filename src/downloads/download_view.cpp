#include "downloads/download_view.h"

namespace corral::downloads {

std::string_view name_of(DownloadState state) {
  constexpr std::string_view kNames[] = {"queued", "running", "paused", "done", "failed", "cancelled"};
  return kNames[static_cast<std::size_t>(state)];
}

namespace {

std::uint64_t sum_of(const std::vector<FileView>& files, std::uint64_t FileView::* count) {
  std::uint64_t sum = 0;
  for (const FileView& file : files) sum += file.*count;
  return sum;
}

}  // namespace

std::uint64_t DownloadView::bytes() const { return sum_of(files, &FileView::size); }
std::uint64_t DownloadView::bytes_done() const { return sum_of(files, &FileView::done); }
std::uint64_t DownloadView::bytes_before() const { return sum_of(files, &FileView::before); }

}  // namespace corral::downloads
