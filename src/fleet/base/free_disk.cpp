#include "fleet/base/free_disk.h"

#include "async/run_or_leave.h"

namespace corral::fleet {

using async::Task;

Task<std::uint64_t> FreeDisk::bytes() {
  if (asking_.running() == 0) asking_.spawn("free disk", ask());
  auto answer = answered();
  auto waiting = async::with_timeout(timers_, patience_, std::move(answer));
  co_await std::move(waiting);
  co_return bytes_;
}

Task<bool> FreeDisk::answered() {
  co_await asking_.join();
  co_return true;
}

Task<void> FreeDisk::ask() {
  auto asking = async::run_or_leave(disk_, timers_, ask_);
  bytes_ = co_await std::move(asking);
}

Task<void> FreeDisk::stop() {
  asking_.cancel();
  co_await asking_.join();
}

}  // namespace corral::fleet
