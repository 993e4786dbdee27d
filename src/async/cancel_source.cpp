#include "async/cancel_source.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>

namespace corral::async {

Task<bool> CancelSource::run_stoppable(std::shared_ptr<State> state, Task<void> task) {
  if (state->stopped) co_return false;
  const auto executor = co_await asio::this_coro::executor;
  auto start = [executor, state](auto handler, Task<void> work) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) slot.assign([state](asio::cancellation_type type) { state->signal.emit(type); });
    auto done = [state, slot, handler = std::move(handler)](std::exception_ptr failure) mutable {
      slot.clear();
      const bool stopped = failure && state->stopped;
      std::move(handler)(stopped ? nullptr : std::move(failure), !stopped);
    };
    asio::co_spawn(executor, std::move(work), asio::bind_cancellation_slot(state->signal.slot(), std::move(done)));
  };
  using Token = const asio::use_awaitable_t<Executor>;
  co_return co_await asio::async_initiate<Token, void(std::exception_ptr, bool)>(std::move(start), use_task,
                                                                                 std::move(task));
}

}  // namespace corral::async
