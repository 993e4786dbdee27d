// Statistics of the requests of an external server, from the loops of the requests to the home loop. Safe on every
// thread, except close().
#pragma once

#include <functional>
#include <memory>

#include "async/task.h"
#include "backends/wrapped_server.h"

namespace corral::backends {

class RequestReports : public std::enable_shared_from_this<RequestReports> {
 public:
  using Done = std::function<void(const RequestStats&)>;  // WrappedServer::Hooks::request_done

  static std::shared_ptr<RequestReports> make(async::Executor home, Done done) {
    return std::shared_ptr<RequestReports>(new RequestReports(home, std::move(done)));
  }

  // Calls `done` on the home loop, soon.
  void report(const RequestStats& stats) {
    async::asio::post(home_, [self = shared_from_this(), stats] {
      if (self->done_) self->done_(stats);
    });
  }
  // On the home loop: no calls from now on.
  void close() { done_ = nullptr; }

 private:
  RequestReports(async::Executor home, Done done) : home_(home), done_(std::move(done)) {}

  const async::Executor home_;
  Done done_;  // of the home loop
};

}  // namespace corral::backends
