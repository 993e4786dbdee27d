#include "mesh/copy/partial_model.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/secret.h"
#include "base/state_file.h"
#include "mesh/identity/errors.h"
#include "models/hash/digest.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHidden = ".corral-copy-";
constexpr const char* kList = "list";
constexpr std::size_t kPiece = 1 << 20;
// The kernel allocates memory in blocks of the size of a write, and large blocks are rarely warm: on a virtual machine
// they cost five times as much.
constexpr std::size_t kWrite = 128 << 10;

std::unexpected<Error> trouble(const fs::path& path, int cause) {
  if (cause == ENOSPC || cause == EDQUOT) {
    return fail(errc::disk_full,
                fmt::format("the disk of '{}' is full: free space, then the copy continues", path.native()));
  }
  return std::unexpected(
      Error({cause, std::system_category()}, fmt::format("'{}': {}", path.native(), std::strerror(cause))));
}

fs::path hidden_folder(const fs::path& folder, const Sha256& content) {
  return folder / (kHidden + to_hex(content).substr(0, 32));
}

// "tiny-llama-1a2b3c4d": the name is for people, the digits of the content make it unique.
fs::path goal_folder(const fs::path& folder, const Manifest& manifest) {
  const auto stem = fs::path(manifest.files.front().name).stem().native();
  return folder / fmt::format("{}-{}", stem.substr(0, 128), to_hex(manifest.content).substr(0, 8));
}

// Disk space that stays free for other programs.
constexpr std::uint64_t kSpare = 256ull << 20;

Result<std::uint64_t> free_bytes(const fs::path& folder) {
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) return trouble(folder, errno);
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

bool read_all(int file, std::uint64_t offset, char* space, std::size_t count) {
  while (count > 0) {
    const auto got = ::pread(file, space, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<std::uint64_t>(got);
    space += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

std::unexpected<Error> unwanted() { return fail(errc::link_closed, "the copy was cancelled"); }

// The hash of a file up to the end of one range, from the hash step before the range.
class RangeDigest {
 public:
  RangeDigest(const Manifest& manifest, RangeId range)
      : steps_(manifest.files[range.file].ranges), range_(range.range), digest_(steps_, range_) {}
  void add(std::string_view bytes) { digest_.add(bytes); }
  bool is_right() {
    const bool last = range_ + 1 == steps_.size();
    return (last ? digest_.finish() : digest_.state()) == steps_[range_];
  }

 private:
  const std::vector<Sha256>& steps_;
  const std::size_t range_;
  models::Digest digest_;
};

// False also if the range can't be read, or the work was cancelled.
bool is_there(int file, const Manifest& manifest, RangeId range, const GoOn& go_on) {
  const auto begin = range.range * kRangeBytes, count = bytes_of(manifest, range);
  const auto space = std::make_unique_for_overwrite<char[]>(kPiece);
  RangeDigest digest(manifest, range);
  for (std::uint64_t done = 0; done < count;) {
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, count - done));
    if (!go_on()) return false;
    if (!read_all(file, begin + done, space.get(), piece)) return false;
    digest.add({space.get(), piece});
    done += piece;
  }
  return digest.is_right();
}

// True if no block of the range was written. Such a range reads as zeros, and corral fetches it again.
bool is_hole(int file, std::uint64_t begin, std::uint64_t count) {
  const auto data = ::lseek(file, static_cast<off_t>(begin), SEEK_DATA);
  return data < 0 || static_cast<std::uint64_t>(data) >= begin + count;
}

// Unlike a rename, a link never replaces a file, and keeps the part for the next run.
Result<> give_name(const fs::path& part, const fs::path& path) {
  if (::link(part.c_str(), path.c_str()) == 0) return {};
  if (errno == EEXIST)
    return fail(errc::name_taken, fmt::format("'{}' exists already: move it to another folder", path.native()));
  return trouble(path, errno);
}

}  // namespace

PartialModel::PartialModel(fs::path folder, Manifest manifest)
    : folder_(std::move(folder)),
      hidden_(hidden_folder(folder_, manifest.content)),
      goal_(goal_folder(folder_, manifest)),
      manifest_(std::move(manifest)) {}

fs::path PartialModel::part_of(std::size_t file) const { return hidden_ / manifest_.files[file].name; }

Result<std::unique_ptr<PartialModel>> PartialModel::open(const fs::path& folder, const SignedManifest& list,
                                                         const GoOn& go_on) {
  std::unique_ptr<PartialModel> model(new PartialModel(folder, list.manifest));
  model->take_names();  // an earlier run may have ended while it gave them
  for (const auto& file : list.manifest.files) {
    const auto path = model->goal_ / file.name;
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(path, ignored))) {
      return fail(errc::name_taken, fmt::format("'{}' exists already: move it to another folder", path.native()));
    }
  }
  std::error_code error;
  fs::create_directories(model->hidden_, error);
  if (error) return trouble(model->hidden_, error.value());
  if (const auto taken = model->take_up(go_on); !taken) return std::unexpected(taken.error());
  if (const auto room = model->reserve(); !room) return std::unexpected(room.error());
  if (const auto kept = write_state_file(model->hidden_ / kList, encode(list)); !kept)
    return std::unexpected(kept.error());
  return model;
}

// Opens the files of an earlier run, and checks which of their ranges are right.
Result<> PartialModel::take_up(const GoOn& go_on) {
  for (std::size_t i = 0; i < manifest_.files.size(); ++i) {
    const auto path = part_of(i);
    files_.emplace_back(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!files_.back()) return trouble(path, errno);
    const auto& ranges = manifest_.files[i].ranges;
    for (std::uint32_t r = 0; r < ranges.size(); ++r) {
      const RangeId id{static_cast<std::uint16_t>(i), r};
      const auto begin = r * kRangeBytes, count = bytes_of(manifest_, id);
      if (is_hole(files_.back().get(), begin, count)) continue;
      if (!go_on()) return unwanted();
      if (!is_there(files_.back().get(), manifest_, id, go_on)) continue;
      there_.insert(id);
      bytes_there_ += count;
    }
  }
  return {};
}

Result<> PartialModel::reserve() {
  const auto have = free_bytes(folder_);
  if (!have) return std::unexpected(have.error());
  std::uint64_t need = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    struct stat now{};
    if (::fstat(files_[i].get(), &now) != 0) return trouble(part_of(i), errno);
    const auto held = static_cast<std::uint64_t>(now.st_blocks) * 512;
    need += manifest_.files[i].bytes - std::min(held, manifest_.files[i].bytes);
  }
  if (need > 0 && *have < need + kSpare) {
    return fail(errc::disk_full,
                fmt::format("'{}' has {} MiB free, but the copy needs {} MiB and {} MiB must stay free: free space",
                            folder_.native(), *have >> 20, need >> 20, kSpare >> 20));
  }
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto bytes = static_cast<off_t>(manifest_.files[i].bytes);
    // A file system without reservation had the space a moment ago at least.
    const int cause = ::fallocate(files_[i].get(), 0, 0, bytes) == 0 ? 0 : errno;
    if (cause != 0 && cause != EOPNOTSUPP && cause != ENOSYS) return trouble(part_of(i), cause);
    if (::ftruncate(files_[i].get(), bytes) != 0) return trouble(part_of(i), errno);
  }
  return {};
}

std::vector<RangeId> PartialModel::missing() const {
  std::vector<RangeId> ranges;
  for (std::size_t i = 0; i < manifest_.files.size(); ++i) {
    for (std::uint32_t r = 0; r < manifest_.files[i].ranges.size(); ++r) {
      const RangeId id{static_cast<std::uint16_t>(i), r};
      if (!there_.contains(id)) ranges.push_back(id);
    }
  }
  return ranges;
}

Result<> PartialModel::put(RangeId range, std::string_view bytes) {
  if (bytes.empty() || bytes.size() != bytes_of(manifest_, range))
    return fail(errc::malformed, "a range has a wrong length");
  RangeDigest digest(manifest_, range);
  digest.add(bytes);
  if (!digest.is_right()) {
    return fail(errc::damaged, fmt::format("bytes {} to {} of '{}' are damaged", range.range * kRangeBytes,
                                           range.range * kRangeBytes + bytes.size(), manifest_.files[range.file].name));
  }
  auto offset = static_cast<off_t>(range.range * kRangeBytes);
  const auto size = bytes.size();
  while (!bytes.empty()) {
    const auto written = ::pwrite(files_[range.file].get(), bytes.data(), std::min(bytes.size(), kWrite), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return trouble(part_of(range.file), errno);
    offset += written;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (there_.insert(range).second) bytes_there_ += size;
  return {};
}

std::vector<fs::path> PartialModel::parts() const {
  std::vector<fs::path> parts;
  for (std::size_t i = 0; i < files_.size(); ++i) parts.push_back(part_of(i));
  return parts;
}

Result<std::vector<fs::path>> PartialModel::finish() {
  std::error_code error;
  fs::create_directories(goal_, error);
  if (error) return trouble(goal_, error.value());
  auto named = give_names(parts());
  if (!named) fs::remove(goal_, error);  // if it is empty
  return named;
}

Result<> PartialModel::settle() {
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (::fsync(files_[i].get()) != 0) return trouble(part_of(i), errno);
  for (const auto& folder : {goal_, folder_})
    if (const auto failed = sync_folder(folder)) return trouble(folder, failed.value());
  discard(folder_, manifest_.content);
  return {};
}

bool PartialModel::is_named(std::size_t file) const {
  std::error_code ignored;
  return fs::equivalent(goal_ / manifest_.files[file].name, part_of(file), ignored);
}

void PartialModel::take_names() {
  std::error_code ignored;
  for (std::size_t i = 0; i < manifest_.files.size(); ++i)
    if (is_named(i)) fs::remove(goal_ / manifest_.files[i].name, ignored);
}

bool PartialModel::settle_named(const GoOn& go_on) {
  for (std::size_t i = 0; i < manifest_.files.size(); ++i)
    if (!is_named(i)) return false;
  const auto taken = take_up(go_on);
  if (!go_on()) return false;
  if (taken && missing().empty() && settle()) return true;
  take_names();
  return false;
}

// All or none.
Result<std::vector<fs::path>> PartialModel::give_names(const std::vector<fs::path>& parts) {
  std::vector<fs::path> named;
  for (std::size_t i = parts.size(); i-- > 0;) {
    named.insert(named.begin(), goal_ / manifest_.files[i].name);
    if (const auto done = give_name(parts[i], named.front()); !done) {
      std::error_code ignored;
      for (std::size_t n = 1; n < named.size(); ++n) fs::remove(named[n], ignored);
      return std::unexpected(done.error());
    }
  }
  return named;
}

void PartialModel::discard(const fs::path& folder, const Sha256& content) {
  std::error_code ignored;
  fs::remove_all(hidden_folder(folder, content), ignored);
}

std::vector<SignedManifest> PartialModel::left_over(const fs::path& folder, const GoOn& go_on) {
  std::vector<SignedManifest> lists;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (!entry->path().filename().native().starts_with(kHidden)) continue;
    const auto text = read_state_file(entry->path() / kList);
    if (!text || !*text) continue;
    if (auto list = decode_manifest(**text)) lists.push_back(std::move(*list));
  }
  std::erase_if(lists,
                [&](const SignedManifest& list) { return PartialModel(folder, list.manifest).settle_named(go_on); });
  std::ranges::sort(lists, {}, [](const SignedManifest& list) { return list.manifest.content; });
  return lists;
}

}  // namespace corral::mesh
