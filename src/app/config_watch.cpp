#include "app/config_watch.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <boost/asio/buffer.hpp>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/unique_fd.h"

namespace corral::app {

ConfigWatch::ConfigWatch(async::Executor executor, const std::filesystem::path& file)
    : file_(std::filesystem::absolute(file)), stamp_(stamp_of(file_)) {
  const auto folder = file_.parent_path();
  UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!watch || ::inotify_add_watch(watch.get(), folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
    const bool missing = watch && errno == ENOENT;
    log::write(missing ? log::Level::debug : log::Level::warning, "app",
               fmt::format("changes of {} are read on SIGHUP only: {}", file_.native(), std::strerror(errno)));
    return;
  }
  events_.emplace(executor, watch.release());
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
    // The name is followed by zeros.
    if (event.len > 0 && name == events.data() + sizeof event) return true;
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
    // Another file of the folder may be what the name leads to; then it looks different now.
    const Stamp now = stamp_of(file_);
    const bool news = names_the_file({events.data(), size}) || now != stamp_;
    stamp_ = now;
    if (news && now != Stamp()) co_return true;
  }
  co_return false;
}

}  // namespace corral::app
