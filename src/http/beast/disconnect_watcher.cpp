#include "http/beast/disconnect_watcher.h"

#include <array>
#include <system_error>

#include <sys/epoll.h>

namespace corral::http {

DisconnectWatcher::DisconnectWatcher(async::Executor executor, std::function<void(std::uint64_t)> hung_up)
    : set_(executor), hung_up_(std::move(hung_up)) {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  set_.assign(set);
}

bool DisconnectWatcher::add(int socket, std::uint64_t number) {
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLET;
  event.data.u64 = number;
  return ::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, socket, &event) == 0;
}

async::Task<void> DisconnectWatcher::listen() {
  using Descriptor = decltype(set_);
  while (true) {
    const auto [error] = co_await set_.async_wait(Descriptor::wait_read, async::as_value);
    if (error) co_return;
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(set_.native_handle(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) hung_up_(events[static_cast<std::size_t>(i)].data.u64);
  }
}

}  // namespace corral::http
