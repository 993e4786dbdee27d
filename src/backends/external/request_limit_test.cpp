#include "backends/external/request_limit.h"

#include <future>
#include <memory>

#include <gtest/gtest.h>

#include "async/offload.h"
#include "async/spawned_task.h"
#include "backends/external/external_backend_fixture_for_tests.h"

namespace corral::backends {
namespace {

using RequestLimitTest = ExternalBackendFixture;

// Its program is being started on a thread, which can't be interrupted.
TEST_F(RequestLimitTest, AClientMayLeaveWhileSomethingCannotBeInterrupted) {
  auto limit = std::make_shared<RequestLimit>(timers_, Millis(1'000), "m");
  async::ThreadPool pool(1);
  std::promise<void> begun, go_on;
  auto may = go_on.get_future();
  auto starting = [](async::ThreadPool& threads, std::promise<void>& has_begun,
                     std::future<void>& may_end) -> async::Task<Result<http::Response>> {
    co_await threads.run([&] {
      has_begun.set_value();
      may_end.wait();
      return true;
    });
    co_return http::Response::json(200, "{}");
  };
  auto answering = starting(pool, begun, may);
  auto limited = WatchedRequest::limited(WatchedRequest::begin(limit, loop().executor()), std::move(answering));
  auto asking =
      std::make_unique<async::SpawnedTask<Result<http::Response>>>(loop().executor(), "ask", std::move(limited));
  settle();
  begun.get_future().wait();
  asking.reset();
  settle();
  go_on.set_value();
  pool.finish();
  settle();
}

}  // namespace
}  // namespace corral::backends
