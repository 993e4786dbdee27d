#include "router/running.h"

namespace corral::router {
namespace {

async::Task<Ending> wait_on_home(std::shared_ptr<Running> running) {
  co_await running->gone.wait();
  co_return Ending{running->end, running->id.value(), running->ended_under, running->stopping, running->last_work};
}

}  // namespace

std::shared_ptr<Running> Running::make(residency::ServerId server, residency::SpecPtr of, async::Executor home) {
  auto end = [home](Running* running) {
    std::unique_ptr<Running> last(running);
    if (!home.running_in_this_thread()) async::asio::post(home, [last = std::move(last)] {});
  };
  return {new Running(server, std::move(of), home), end};
}

async::Task<Ending> Running::until_gone() {
  auto waiting = wait_on_home(shared_from_this());
  co_return co_await async::run_on(home, std::move(waiting));
}

}  // namespace corral::router
