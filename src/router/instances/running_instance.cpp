#include "router/instances/running_instance.h"

namespace corral::router {
namespace {

async::Task<UpstreamExit> wait_on_home(std::shared_ptr<RunningInstance> running) {
  co_await running->gone.wait();
  co_return UpstreamExit{running->end, running->id.value(), running->ended_under, running->stopping,
                         running->last_work};
}

}  // namespace

std::shared_ptr<RunningInstance> RunningInstance::make(residency::InstanceId id, residency::SpecPtr of,
                                                       async::Executor home) {
  auto end = [home](RunningInstance* running) {
    std::unique_ptr<RunningInstance> last(running);
    if (!home.running_in_this_thread()) async::asio::post(home, [last = std::move(last)] {});
  };
  return {new RunningInstance(id, std::move(of), home), end};
}

async::Task<UpstreamExit> RunningInstance::wait_for_exit() {
  auto waiting = wait_on_home(shared_from_this());
  co_return co_await async::run_on(home, std::move(waiting));
}

}  // namespace corral::router
