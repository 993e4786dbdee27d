#include "models/hash/content_hash.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <set>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/state_file.h"
#include "base/thread_priority.h"
#include "base/unique_fd.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = 1 << 20;
// Linux 6.14: drop the page cache of this read afterwards. The headers of Debian 12 lack the constant.
constexpr int kDontCache = 0x80;
// linux/ioprio.h: the calling thread gets the idle class, which uses a disk only if no other process does.
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

// Yields processor and disk to other threads. Not by SCHED_IDLE: on a busy machine such a thread doesn't run for
// seconds, also while it holds a lock of the allocator or of the process's memory map, which the whole server needs.
void step_back() {
  constexpr int kNice = 10;  // a tenth of a processor that another thread wants
  lower_priority(kNice);
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

// A thread can't raise its priority again, and a low-priority thread that holds a lock would delay others. So a
// separate thread only reads.
Result<std::optional<FileHash>> hash_file(const fs::path& file, const std::function<bool()>& go_on) {
  FileDigest digest;
  Result<bool> whole = false;
  std::exception_ptr thrown;
  std::thread reader([&] {
    try {
      step_back();
      whole = read_pieces(file, go_on, [&](std::string_view piece) { digest.add(piece); });
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  reader.join();
  if (thrown) std::rethrow_exception(thrown);
  if (!whole) return std::unexpected(whole.error());
  if (!*whole) return std::nullopt;
  return digest.finish();
}

ContentHashes::ContentHashes(fs::path file, std::function<void()> on_change, std::chrono::seconds rest, Hasher hasher)
    : file_(std::move(file)), on_change_(std::move(on_change)), rest_(rest), hasher_(std::move(hasher)) {}

ContentHashes::~ContentHashes() {
  {
    const MutexLock lock(mutex_);
    stop();
  }
  if (thread_.joinable()) thread_.join();
}

void ContentHashes::stop() {
  stop_ = true;
  go_on_ = false;
  changed_.notify_all();
}

bool ContentHashes::finish_within(std::chrono::milliseconds limit) {
  MutexLock lock(mutex_);
  stop();
  return changed_.wait_for(lock, limit, [this]() REQUIRES(mutex_) { return ended_; });
}

std::vector<fs::path> ContentHashes::paths_of(const ModelInfo& model) {
  auto paths = model.paths;
  if (!model.mmproj.empty()) paths.push_back(model.mmproj);
  return paths;
}

// The file is still being downloaded or copied. A time in the future is ignored.
bool ContentHashes::is_restless(const FileStamp& stamp) const {
  using std::chrono::nanoseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto age = std::chrono::duration_cast<nanoseconds>(now).count() - stamp.modified;
  return age >= 0 && age < nanoseconds(rest_).count();
}

// All files are as they were.
bool ContentHashes::same(const Model& a, const Model& b) {
  return a->name == b->name && a->stamps == b->stamps && paths_of(*a) == paths_of(*b);
}

bool ContentHashes::is_wanted(const fs::path& path) const {
  return std::ranges::any_of(wanted_, [&path](const Model& model) {
    return model->mmproj == path || std::ranges::find(model->paths, path) != model->paths.end();
  });
}

void ContentHashes::want(std::vector<Model> models) {
  std::ranges::sort(models, {}, [](const Model& model) { return std::pair(model->size, model->name); });
  const MutexLock lock(mutex_);
  if (stop_) return;
  const bool others = !std::ranges::equal(models, wanted_, same);
  wanted_ = std::move(models);
  if (others) {
    wanted_changed_ = true;
    missing_ = wanted_.size();
    go_on_ = is_wanted(reading_);
    changed_.notify_all();
  }
  if (thread_.joinable() || wanted_.empty()) return;
  try {
    ended_ = false;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& failure) {  // the next request tries again
    ended_ = true;
    log::warning("models", "no thread for hashes of models: {}", failure.what());
  }
}

std::optional<ContentHash> ContentHashes::find(const ModelInfo& model) const {
  const MutexLock lock(mutex_);
  const auto found = known_.find(model.name);
  if (found == known_.end()) return std::nullopt;
  const auto& known = found->second;
  const bool same = known.stamps == model.stamps && known.paths == paths_of(model);
  return same ? std::optional(known.content) : std::nullopt;
}

std::vector<FileHash> ContentHashes::files_of(const ModelInfo& model) const {
  if (!find(model)) return {};
  const MutexLock lock(mutex_);
  const auto found = known_.find(model.name);
  return found == known_.end() ? std::vector<FileHash>() : found->second.files;
}

std::size_t ContentHashes::missing() const {
  const MutexLock lock(mutex_);
  return missing_;
}

bool ContentHashes::superseded() const {
  const MutexLock lock(mutex_);
  return stop_ || wanted_changed_;
}

// No exception ends the process: whatever failed is tried again after a rest.
template <typename Work>
void ContentHashes::guarded(const Work& work) {
  try {
    work();
    return;
  } catch (const std::exception& failure) {
    try {
      log::warning("models", "hashes of models: {}", failure.what());
    } catch (...) {  // no memory for the log line
    }
  } catch (...) {
  }
  const MutexLock lock(mutex_);
  restless_ = true;
}

void ContentHashes::run() {
  guarded([this] { read_file(); });
  while (wait_for_work()) guarded([this] { look_at_all(); });
  const MutexLock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool ContentHashes::wait_for_work() {
  MutexLock lock(mutex_);
  const auto something = [this]() REQUIRES(mutex_) { return stop_ || wanted_changed_; };
  if (restless_) {
    changed_.wait_for(lock, std::max(rest_, std::chrono::seconds(1)), something);
  } else {
    changed_.wait(lock, something);
  }
  wanted_changed_ = restless_ = false;
  return !stop_;
}

void ContentHashes::look_at_all() {
  std::vector<Model> todo;
  {
    const MutexLock lock(mutex_);
    missing_ = wanted_.size();
    todo = wanted_;
    std::set<ModelName> names;
    for (const auto& model : todo) names.insert(model->name);
    std::erase_if(known_, [&](const auto& entry) { return !names.contains(entry.first); });
  }
  for (const auto& model : todo) {
    if (superseded()) break;
    guarded([&] { look_at(model); });
  }
}

void ContentHashes::look_at(const Model& model) {
  KnownModel known{paths_of(*model), model->stamps, {}, {}};
  for (const auto& path : known.paths) {
    auto hash = hash_of(path);
    if (!hash) break;
    known.files.push_back(std::move(*hash));
  }
  const bool whole = !known.files.empty() && known.files.size() == known.paths.size();
  if (whole) {
    const bool projector = !model->mmproj.empty();
    std::vector<Sha256> files;
    for (const auto& file : known.files) files.push_back(file.hash);
    known.content =
        content_of(std::span(files).first(model->paths.size()), projector ? std::optional(files.back()) : std::nullopt);
  }
  {
    const MutexLock lock(mutex_);
    if (stop_ || wanted_changed_) return;
    if (missing_ > 0) --missing_;
    if (whole) known_[model->name] = std::move(known);
  }
  if (whole && on_change_) on_change_();
}

std::optional<FileHash> ContentHashes::hash_of(const fs::path& path) {
  const auto stamp = [&path]() -> std::optional<FileStamp> {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) return std::nullopt;
    auto stamp = stamp_of(found);
    stamp.device = 0;
    return stamp;
  };
  const auto look_again = [this] {
    const MutexLock lock(mutex_);
    restless_ = true;
    return std::nullopt;
  };
  const auto before = stamp();
  if (!before) return std::nullopt;
  if (const auto found = files_.find(path); found != files_.end() && found->second.stamp == *before)
    return FileHash{found->second.stamp.size, found->second.hash, found->second.steps};
  if (is_restless(*before)) return look_again();
  {
    const MutexLock lock(mutex_);
    if (stop_ || !is_wanted(path)) return std::nullopt;
    reading_ = path;
    go_on_ = true;
  }
  auto hash = hasher_(path, [this] { return go_on_.load(); });
  if (!hash) {
    log::warning("models", "{}: other nodes do not see its content", hash.error().message);
    return std::nullopt;
  }
  if (!*hash) return std::nullopt;
  if (stamp() != before) return look_again();
  files_[path] = {*before, (*hash)->hash, (*hash)->steps};
  save();
  return std::move(**hash);
}

void ContentHashes::read_file() {
  const auto text = read_state_file(file_);
  if (!text || !*text) return;
  if (auto kept = parse_kept_hashes(**text)) {
    files_ = std::move(*kept);
    return;
  }
  const auto aside = set_aside(file_);
  log::warning("models", "'{}' had no hashes and was moved to '{}'; they are computed again", file_.native(),
               aside.native());
}

void ContentHashes::save() {
  std::set<fs::path> wanted;
  {
    const MutexLock lock(mutex_);
    for (const auto& model : wanted_) {
      for (auto& path : paths_of(*model)) wanted.insert(std::move(path));
    }
  }
  make_room(files_, wanted);
  if (const auto written = write_state_file(file_, to_text(files_)); !written)
    log::warning("models", "{}: hashes of models are computed again at the next start", written.error().message);
}

}  // namespace corral::models
