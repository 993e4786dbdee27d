#include "app/config_watch.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <set>

#include <boost/asio/buffer.hpp>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/unique_fd.h"

namespace corral::app {
namespace {

constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO;
constexpr std::uint32_t kLosses = IN_DELETE | IN_MOVED_FROM;

// The folders in which a change may replace the file at the end of this path: the folder of each symbolic link, and
// that of the file.
std::set<std::filesystem::path> folders_of(const std::filesystem::path& file) {
  constexpr int kMaxLinks = 40;  // as in the kernel
  std::set<std::filesystem::path> folders{file.parent_path()};
  std::deque<std::filesystem::path> ahead(file.begin(), file.end());
  std::filesystem::path at;
  for (int links = 0; !ahead.empty();) {
    const auto step = ahead.front();
    ahead.pop_front();
    std::error_code none;
    const auto target = std::filesystem::read_symlink(at / step, none);
    if (none) {
      at /= step;
      continue;
    }
    if (++links > kMaxLinks) return folders;
    folders.insert(at);
    if (target.is_absolute()) at.clear();
    ahead.insert(ahead.begin(), target.begin(), target.end());
  }
  folders.insert(at.parent_path());
  return folders;
}

}  // namespace

ConfigWatch::ConfigWatch(async::Executor executor, const std::filesystem::path& file)
    : ConfigWatch(executor, file, What::file) {}

ConfigWatch ConfigWatch::of_optional(async::Executor executor, const std::filesystem::path& file) {
  return ConfigWatch(executor, file, What::optional_file);
}

ConfigWatch ConfigWatch::of_folder(async::Executor executor, const std::filesystem::path& folder) {
  return ConfigWatch(executor, folder, What::folder);
}

ConfigWatch::ConfigWatch(async::Executor executor, const std::filesystem::path& path, What what)
    : what_(what), file_(std::filesystem::absolute(path)), stamp_(stamp_of(file_)) {
  UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!watch) {
    log::warning("app", "changes of {} are read on SIGHUP only: {}", file_.native(), std::strerror(errno));
    return;
  }
  events_.emplace(executor, watch.release());
  for (const auto& folder : folders()) {
    if (const int failed = watch_folder(folder); failed != 0)
      log::warning("app", "changes in {} are read on SIGHUP only: {}", folder.native(), std::strerror(failed));
  }
}

std::set<std::filesystem::path> ConfigWatch::folders() const {
  return what_ == What::folder ? std::set{file_} : folders_of(file_);
}

int ConfigWatch::watch_folder(const std::filesystem::path& folder) {
  const auto add = [this](const std::filesystem::path& path, std::uint32_t events) {
    return ::inotify_add_watch(events_->native_handle(), path.c_str(), events | IN_MASK_ADD) < 0 ? errno : 0;
  };
  const auto changes = what_ == What::file ? kChanges : kChanges | kLosses;
  int failed = add(folder, changes);
  auto above = folder;
  while (failed == ENOENT && above.has_relative_path()) {
    const auto missing = above;
    above = above.parent_path();
    failed = add(above, IN_CREATE | IN_MOVED_TO);
    std::error_code unknown;
    if (failed != 0 || !std::filesystem::exists(missing, unknown)) continue;
    above = folder;  // it was created meanwhile
    failed = add(folder, changes);
  }
  return failed;
}

ConfigWatch::Stamp ConfigWatch::stamp_of(const std::filesystem::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

bool ConfigWatch::names_the_file(std::span<const char> events) const {
  const std::string name = file_.filename().native();
  while (events.size() >= sizeof(inotify_event)) {
    inotify_event event{};
    std::memcpy(&event, events.data(), sizeof event);
    // The name is padded with zeros.
    const std::string_view named = event.len > 0 ? events.data() + sizeof event : "";
    const auto wanted = what_ == What::file ? kChanges : kChanges | kLosses;
    const bool changed = (event.mask & wanted) != 0 && named == name;
    if (what_ == What::folder ? named.ends_with(".toml") : changed) return true;
    events = events.subspan(sizeof event + event.len);
  }
  return false;
}

async::Task<bool> ConfigWatch::changed() {
  while (events_) {
    std::array<char, 4096> events;
    const auto buffer = async::asio::buffer(events);
    const auto [error, size] = co_await events_->async_read_some(buffer, async::as_value);
    if (error) break;
    // A change of a link in the folder may have replaced the file: compares its stamp.
    for (const auto& folder : folders()) watch_folder(folder);
    const Stamp now = stamp_of(file_);
    const bool relevant = names_the_file({events.data(), size}) || now != stamp_;
    stamp_ = now;
    if (relevant && (what_ != What::file || now != Stamp())) co_return true;
  }
  co_return false;
}

}  // namespace corral::app
