#include "config/files/state_lock.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "json/count.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

constexpr Millis kLook{20};
constexpr std::size_t kBytes = 512;

fs::path lock_file(const fs::path& state_dir) { return state_dir / "server.lock"; }

// errno of the attempt; 0: the lock is held.
int try_lock(int fd, int kind) {
  while (::flock(fd, kind | LOCK_NB) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

// The same for all processes that can reach each other at 127.0.0.1.
std::string this_machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network{};
  return ::stat("/proc/self/ns/net", &network) == 0 ? fmt::format("{}.{}", boot, network.st_ino) : boot;
}

std::int64_t count_in(const json::Value& object, std::string_view name, std::uint64_t max) {
  const auto count = json::to_count(json::number_or(object, name, 0));
  return count && *count <= max ? static_cast<std::int64_t>(*count) : 0;
}

// What the holder of the lock wrote, or nothing of it.
RunningServer read_holder(int fd) {
  std::array<char, kBytes> buffer{};
  const auto got = ::pread(fd, buffer.data(), buffer.size(), 0);
  const auto parsed = json::parse(std::string_view(buffer.data(), static_cast<std::size_t>(got > 0 ? got : 0)));
  if (!parsed) return {};
  return {.machine = std::string(json::text_or(*parsed, "machine", "")),
          .process = count_in(*parsed, "process", std::numeric_limits<pid_t>::max()),
          .host = std::string(json::text_or(*parsed, "host", "")),
          .port = static_cast<int>(count_in(*parsed, "port", std::numeric_limits<std::uint16_t>::max()))};
}

// The text always has the same length, so that readers see the old one or the new one.
void write_holder(int fd, const RunningServer& server) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("machine", server.machine).field("process", server.process);
  if (server.port != 0) out.field("host", server.host).field("port", server.port);
  out.end_object();
  text.resize(kBytes, ' ');
  if (::pwrite(fd, text.data(), text.size(), 0) < 0)
    log::warning("config", "server.lock cannot be written: {}", std::strerror(errno));
}

bool is_here(const RunningServer& server) { return server.machine.empty() || server.machine == this_machine(); }

std::unexpected<Error> in_use(const fs::path& state_dir, const RunningServer& holder) {
  std::string details = holder.process > 0 ? fmt::format(", process {}", holder.process) : "";
  if (!is_here(holder)) details += " on another machine or in a container";
  if (holder.port > 0) details += fmt::format(", which listens on {} port {}", holder.host, holder.port);
  return std::unexpected<Error>(
      std::in_place, std::make_error_code(std::errc::device_or_resource_busy),
      fmt::format(
          "state_dir '{}' is in use by another server{}: stop that server, or set another folder with --state-dir",
          state_dir.native(), details));
}

}  // namespace

Result<StateLock> StateLock::take(const fs::path& state_dir, Millis patience, const std::function<void()>& pause) {
  UniqueFd file(::open(lock_file(state_dir).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  int failed = file ? try_lock(file.get(), LOCK_EX) : errno;
  const auto until = std::chrono::steady_clock::now() + patience;
  while (failed == EWOULDBLOCK && std::chrono::steady_clock::now() < until) {
    pause ? pause() : std::this_thread::sleep_for(kLook);
    failed = try_lock(file.get(), LOCK_EX);
  }
  if (failed == EWOULDBLOCK) return in_use(state_dir, read_holder(file.get()));
  if (failed != 0) {
    log::warning("config", "state_dir '{}' cannot be locked ({}): another server could use it, too", state_dir.native(),
                 std::strerror(failed));
    return StateLock(UniqueFd());
  }
  write_holder(file.get(), {.machine = this_machine(), .process = ::getpid()});
  return StateLock(std::move(file));
}

void StateLock::publish(const std::string& host, int port) const {
  if (file_) write_holder(file_.get(), {.machine = this_machine(), .process = ::getpid(), .host = host, .port = port});
}

std::optional<RunningServer> running_server(const fs::path& state_dir) {
  const UniqueFd file(::open(lock_file(state_dir).c_str(), O_RDONLY | O_CLOEXEC));
  // If this process gets the lock, no server has it. It is released with the descriptor.
  if (!file || try_lock(file.get(), LOCK_SH) != EWOULDBLOCK) return std::nullopt;
  auto holder = read_holder(file.get());
  return is_here(holder) ? std::optional(std::move(holder)) : std::nullopt;
}

}  // namespace corral::config
