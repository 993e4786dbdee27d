#include "downloads/transfer/parts.h"

#include <algorithm>

namespace corral::downloads {

std::uint64_t part_size(std::uint64_t file_size, const PartLimits& limits) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const std::uint64_t sixteenth = (file_size / 16 + kMiB - 1) / kMiB * kMiB;
  return std::clamp(sixteenth, limits.smallest, std::max(limits.smallest, limits.largest));
}

std::size_t Parts::add(std::uint64_t size, const RangeSet& done) {
  File file{.size = size};
  for (const Range& range : done.ranges()) file.done.add({range.begin, std::min(range.end, size)});
  file.taken = file.done;
  files_.push_back(std::move(file));
  return files_.size() - 1;
}

std::optional<Part> Parts::next() {
  if (fetching_ >= limits_.at_once) return std::nullopt;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    File& file = files_[i];
    if (file.dropped || (file.whole && file.fetching > 0)) continue;
    const std::uint64_t limit = file.whole ? file.size : part_size(file.size, limits_);
    const auto gap = file.taken.gap(file.size, limit);
    if (!gap) continue;
    file.taken.add(*gap);
    ++file.fetching;
    ++fetching_;
    return Part{i, *gap};
  }
  return std::nullopt;
}

Part Parts::wrote(Part part, std::uint64_t bytes) {
  bytes = std::min(bytes, part.range.size());
  File& file = files_[part.file];
  file.done.add({part.range.begin, part.range.begin + bytes});
  part.range.begin += bytes;
  return part;
}

void Parts::give_back(const Part& part) {
  File& file = files_[part.file];
  file.taken.remove(part.range);
  --file.fetching;
  --fetching_;
  // Discarded ranges are fetched again after all running fetches of the file have ended.
  if (file.fetching == 0) file.taken = file.done;
}

void Parts::discard(std::size_t index) {
  File& file = files_[index];
  file.done.clear();
  if (file.fetching == 0) file.taken.clear();
}

}  // namespace corral::downloads
