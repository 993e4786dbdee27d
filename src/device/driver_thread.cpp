#include "device/driver_thread.h"

#include <system_error>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"

namespace corral::device {

struct DriverThread::State {
  explicit State(async::Executor executor) : home(executor) {}

  const async::Executor home;
  Mutex mutex;                            // held for a few instructions
  bool closed GUARDED_BY(mutex) = false;  // the owner was destroyed, and perhaps the loop: post nothing
};

DriverThread::DriverThread(async::Executor home, async::Timers& timers)
    : timers_(timers), state_(std::make_shared<State>(home)) {}

DriverThread::~DriverThread() {
  const MutexLock lock(state_->mutex);
  state_->closed = true;
}

async::Task<bool> DriverThread::call(std::move_only_function<void()> work) {
  while (busy()) {
    const auto before = last_;
    co_await before->wait();
  }
  const auto done = last_ = std::make_shared<async::Event>(state_->home);
  auto run = [state = state_, weak = std::weak_ptr(done), call = std::move(work)]() mutable {
    call();
    call = nullptr;  // destroy what it owns before the end is reported
    const MutexLock lock(state->mutex);
    if (state->closed) return;
    async::asio::post(state->home, [weak = std::move(weak)] {
      if (const auto alive = weak.lock()) alive->set();
    });
  };
  try {
    std::thread(std::move(run)).detach();
  } catch (const std::system_error& error) {
    log::warning("device", "no thread for a driver's call: {}", error.what());
    done->set();
    co_return false;
  }
  co_await done->wait();
  co_return true;
}

}  // namespace corral::device
