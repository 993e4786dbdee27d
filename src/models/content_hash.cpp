#include "models/content_hash.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/secret.h"
#include "base/state_file.h"
#include "base/unique_fd.h"
#include "json/value.h"
#include "json/writer.h"
#include "models/digest.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kMostFiles = 16'384;  // that are kept on disk
// Linux 6.14: pages that this read brings in go again when it has them. Headers of Debian 12 don't know it.
constexpr int kDontCache = 0x80;
// linux/ioprio.h: the calling thread, of the class that gets a disk when nobody else wants it.
constexpr int kIoThread = 1, kIoIdle = 3 << 13;

std::unexpected<Error> unreadable(const fs::path& file) {
  const std::error_code code(errno, std::system_category());
  return std::unexpected<Error>(std::in_place, code, fmt::format("can't read '{}': {}", file.native(), code.message()));
}

// Bytes at `offset`; -1 with errno.
ssize_t read_at(int fd, char* space, std::size_t size, off_t offset, bool& dont_cache) {
  const iovec part{space, size};
  while (true) {
    const auto got = ::preadv2(fd, &part, 1, offset, dont_cache ? kDontCache : 0);
    if (got >= 0) return got;
    if (errno == EOPNOTSUPP && dont_cache) {
      dont_cache = false;
    } else if (errno != EINTR) {
      return got;
    }
  }
}

// Whoever else wants a processor or the disk goes first.
void step_back() {
  const sched_param none{};
  if (::sched_setscheduler(0, SCHED_IDLE, &none) != 0) ::setpriority(PRIO_PROCESS, 0, 19);
  ::syscall(SYS_ioprio_set, kIoThread, 0, kIoIdle);
}

}  // namespace

ContentHash content_of(std::span<const Sha256> parts, const std::optional<Sha256>& projector) {
  const auto text = [](const Sha256& hash) {
    return std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size());
  };
  std::string all = fmt::format("corral/1 content\n{} {}\n", parts.size(), projector ? 1 : 0);
  for (const auto& part : parts) all += text(part);
  if (projector) all += text(*projector);
  return sha256({all});
}

Result<bool> read_pieces(const fs::path& file, const std::function<bool()>& go_on,
                         const std::function<void(std::string_view)>& take) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return unreadable(file);
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  const auto space = std::make_unique_for_overwrite<char[]>(kChunk);
  bool dont_cache = true;
  for (off_t offset = 0;;) {
    if (!go_on()) return false;
    const auto got = read_at(fd.get(), space.get(), kChunk, offset, dont_cache);
    if (got < 0) return unreadable(file);
    if (got == 0) return true;
    take({space.get(), static_cast<std::size_t>(got)});
    offset += got;
  }
}

Result<std::optional<Sha256>> hash_file(const fs::path& file, const std::function<bool()>& go_on) {
  Digest digest;
  const auto whole = read_pieces(file, go_on, [&](std::string_view piece) { digest.add(piece); });
  if (!whole) return std::unexpected(whole.error());
  if (!*whole) return std::nullopt;
  return digest.finish();
}

ContentHashes::ContentHashes(fs::path file, std::function<void()> on_change, std::chrono::seconds rest)
    : file_(std::move(file)), on_change_(std::move(on_change)), rest_(rest) {}

ContentHashes::~ContentHashes() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool ContentHashes::finish_within(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, limit, [this] { return ended_; });
}

std::vector<fs::path> ContentHashes::paths_of(const ModelInfo& model) {
  auto paths = model.paths;
  if (!model.mmproj.empty()) paths.push_back(model.mmproj);
  return paths;
}

std::optional<ContentHashes::Stamp> ContentHashes::stamp_of(const fs::path& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return Stamp{static_cast<std::uint64_t>(found.st_size), found.st_ino,
               std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

// A download, or a copy, that still goes on. A time in the future says nothing.
bool ContentHashes::is_restless(const Stamp& stamp) const {
  using std::chrono::nanoseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto age = std::chrono::duration_cast<nanoseconds>(now).count() - stamp.mtime_ns;
  return age >= 0 && age < nanoseconds(rest_).count();
}

bool ContentHashes::same(const Model& a, const Model& b) {
  return a->name == b->name && a->size == b->size && a->created == b->created && paths_of(*a) == paths_of(*b);
}

void ContentHashes::want(std::vector<Model> models) {
  std::ranges::sort(models, {}, [](const Model& model) { return std::pair(model->size, model->name); });
  const std::scoped_lock lock(mutex_);
  if (stop_) return;
  const bool others = !std::ranges::equal(models, wanted_, same);
  wanted_ = std::move(models);
  if (!others) return;
  news_ = true;
  missing_ = wanted_.size();
  dropped_ = std::ranges::none_of(wanted_, [this](const Model& model) {
    const auto paths = paths_of(*model);
    return std::ranges::find(paths, reading_) != paths.end();
  });
  if (!thread_.joinable()) {
    ended_ = false;
    thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
}

std::optional<ContentHash> ContentHashes::find(const ModelInfo& model) const {
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(model.name);
  if (found == known_.end()) return std::nullopt;
  const auto& known = found->second;
  const bool same = known.size == model.size && known.created == model.created && known.paths == paths_of(model);
  return same ? std::optional(known.content) : std::nullopt;
}

std::vector<Sha256> ContentHashes::files_of(const ModelInfo& model) const {
  if (!find(model)) return {};
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(model.name);
  return found == known_.end() ? std::vector<Sha256>() : found->second.files;
}

std::size_t ContentHashes::missing() const {
  const std::scoped_lock lock(mutex_);
  return missing_;
}

bool ContentHashes::goes_on() const {
  const std::scoped_lock lock(mutex_);
  return !stop_ && !dropped_;
}

bool ContentHashes::superseded() const {
  const std::scoped_lock lock(mutex_);
  return stop_ || news_;
}

// On the thread.
void ContentHashes::run() {
  step_back();
  read_file();
  while (true) {
    std::vector<Model> todo;
    {
      std::unique_lock lock(mutex_);
      const auto something = [this] { return stop_ || news_; };
      if (restless_) {
        changed_.wait_for(lock, std::max(rest_, std::chrono::seconds(1)), something);
      } else {
        changed_.wait(lock, something);
      }
      if (stop_) break;
      news_ = restless_ = false;
      missing_ = wanted_.size();
      todo = wanted_;
      std::set<ModelName> names;
      for (const auto& model : todo) names.insert(model->name);
      std::erase_if(known_, [&](const auto& entry) { return !names.contains(entry.first); });
    }
    for (const auto& model : todo) {
      if (superseded()) break;
      look_at(model);
    }
  }
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void ContentHashes::look_at(const Model& model) {
  KnownModel known{paths_of(*model), model->size, model->created, {}, {}};
  for (const auto& path : known.paths) {
    const auto hash = hash_of(path);
    if (!hash) break;
    known.files.push_back(*hash);
  }
  const bool whole = !known.files.empty() && known.files.size() == known.paths.size();
  if (whole) {
    const bool projector = !model->mmproj.empty();
    const std::span files(known.files);
    known.content =
        content_of(files.first(model->paths.size()), projector ? std::optional(known.files.back()) : std::nullopt);
  }
  {
    const std::scoped_lock lock(mutex_);
    if (stop_ || news_) return;
    if (missing_ > 0) --missing_;
    if (whole) known_[model->name] = std::move(known);
  }
  if (whole && on_change_) on_change_();
}

std::optional<Sha256> ContentHashes::hash_of(const fs::path& path) {
  const auto before = stamp_of(path);
  if (!before) return std::nullopt;
  if (const auto found = files_.find(path); found != files_.end() && found->second.stamp == *before) {
    return found->second.hash;
  }
  if (is_restless(*before)) {
    const std::scoped_lock lock(mutex_);
    restless_ = true;
    return std::nullopt;
  }
  {
    const std::scoped_lock lock(mutex_);
    reading_ = path;
    dropped_ = false;
  }
  const auto hash = hash_file(path, [this] { return goes_on(); });
  if (!hash) {
    log::warning("models", "{}: its content isn't known to other nodes", hash.error().message);
    return std::nullopt;
  }
  if (!*hash) return std::nullopt;
  if (stamp_of(path) != before) {
    const std::scoped_lock lock(mutex_);
    restless_ = true;
    return std::nullopt;
  }
  files_[path] = {*before, **hash};
  save();
  return **hash;
}

void ContentHashes::read_file() {
  const auto text = read_state_file(file_);
  if (!text || !*text) return;
  const auto parsed = json::parse(**text);
  const auto* rows = parsed ? json::find(*parsed, "files") : nullptr;
  if (rows == nullptr || !rows->is_array()) {
    const auto aside = set_aside(file_);
    log::warning("models", "'{}' held no hashes and was moved to '{}'; they are computed anew", file_.native(),
                 aside.native());
    return;
  }
  const auto number = [](const json::Value& row, std::string_view name) {
    const auto* value = json::find(row, name);
    return value != nullptr && value->is_number() ? value->to_number<std::int64_t>() : 0;
  };
  for (const auto& row : rows->get_array()) {
    const auto hash = parse_sha256(json::text_or(row, "sha256", ""));
    if (!hash) continue;
    const Stamp stamp{static_cast<std::uint64_t>(number(row, "size")), static_cast<std::uint64_t>(number(row, "inode")),
                      number(row, "mtime_ns")};
    files_[fs::path(std::string(json::text_or(row, "path", "")))] = {stamp, *hash};
  }
}

void ContentHashes::save() const {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("files").begin_array();
  std::size_t count = 0;
  for (const auto& [path, known] : files_) {
    // Files that are gone are forgotten only when there is no room for them: a disk may be unmounted for a while.
    if (++count > kMostFiles) break;
    out.begin_object().field("path", path.native()).field("size", known.stamp.size);
    out.field("mtime_ns", known.stamp.mtime_ns).field("inode", known.stamp.inode);
    out.field("sha256", to_hex(known.hash)).end_object();
  }
  out.end_array().end_object();
  if (const auto written = write_state_file(file_, text); !written)
    log::warning("models", "{}: hashes of models are computed again at the next start", written.error().message);
}

}  // namespace corral::models
