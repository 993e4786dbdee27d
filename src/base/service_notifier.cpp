#include "base/service_notifier.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace corral {
namespace {

std::optional<std::int64_t> positive(const std::optional<std::string>& text) {
  std::int64_t value = 0;
  if (!text) return std::nullopt;
  const auto* const last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, value);
  if (error != std::errc() || end != last || value <= 0) return std::nullopt;
  return value;
}

std::int64_t micros(Millis time) { return std::chrono::microseconds(time).count(); }

}  // namespace

ServiceNotifier::ServiceNotifier(const Lookup& environment) {
  const auto name = environment("NOTIFY_SOCKET");
  const bool known_kind = name && name->size() > 1 && (name->front() == '/' || name->front() == '@');
  if (!known_kind || name->size() >= sizeof(sockaddr_un::sun_path)) return;
  address_ = *name;
  if (address_.front() == '@') address_.front() = '\0';  // Linux's abstract names
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto pid = environment("WATCHDOG_PID");
  const auto limit = positive(environment("WATCHDOG_USEC"));
  const bool ours = !pid || positive(pid) == static_cast<std::int64_t>(::getpid());
  if (limit && ours)
    watchdog_ = std::max(Millis(1), std::chrono::duration_cast<Millis>(std::chrono::microseconds(*limit)));
}

ServiceNotifier ServiceNotifier::of_this_process() {
  return ServiceNotifier([](std::string_view name) -> std::optional<std::string> {
    const char* const value = std::getenv(std::string(name).c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
}

void ServiceNotifier::status(std::string_view line) const {
  std::string text = "STATUS=" + std::string(line);
  std::ranges::replace(text, '\n', ' ');  // each line is a variable
  send(text);
}

void ServiceNotifier::extend_timeout(Millis limit) const { send(fmt::format("EXTEND_TIMEOUT_USEC={}", micros(limit))); }

void ServiceNotifier::stopping(Millis limit) const {
  send(fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}", micros(limit)));
}

bool ServiceNotifier::send(std::string_view text) const {
  if (!socket_) return false;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  return ::sendto(socket_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&to), size) >= 0;
}

}  // namespace corral
