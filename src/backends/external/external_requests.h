// The requests to one external server: each waits for its place, ends at its limit or with the server, and is counted
// by its answer.
//
// Safe on every thread; a request stays on its loop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "async/timer.h"
#include "backends/external/descriptor.h"
#include "backends/external/request_gate.h"
#include "backends/external/request_limit.h"
#include "backends/external/request_reports.h"
#include "http/handler.h"
#include "protocol/ask.h"

namespace corral::backends {

class ExternalRequests {
 public:
  // `model`: for messages. `timers` must outlive every request and answer.
  ExternalRequests(async::Timers& timers, const Descriptor& descriptor, std::string model,
                   std::shared_ptr<RequestReports> reports);

  // Before the first request: called with the place of each request that ends without an answer while the program works
  // on it, on any loop. The place may be kept: no other request gets it meanwhile.
  using Abandoned = std::function<void(RequestGate::Place)>;
  void on_abandoned(Abandoned abandoned) { abandoned_ = std::move(abandoned); }
  // The program is being started again: requests wait, and it answers no queries.
  void set_restarting(bool restarting) { restarting_ = restarting; }
  bool restarting() const { return restarting_; }

  // Sends one request and returns its answer. Called when the request has its place.
  using Send = std::function<async::Task<Result<http::Response>>(WatchedRequest&)>;
  // The answer, whose body ends with an error in the same cases. Errors: those of `send`, external::errc::stalled,
  // backends::errc::backend_died.
  // `counts`: the answer is reported.
  async::Task<Result<http::Response>> run(Send send, bool counts = true);
  // Ends the requests that run (backends::errc::backend_died), and later ones at once.
  void give_up() { limit_->give_up(); }

 private:
  async::Task<Result<http::Response>> answer(async::Executor executor, std::shared_ptr<WatchedRequest> watched,
                                             Send send, bool counts);

  async::Timers& timers_;
  const std::shared_ptr<RequestGate> gate_;
  const std::shared_ptr<RequestLimit> limit_;
  const std::shared_ptr<RequestReports> reports_;
  Abandoned abandoned_;
  std::atomic<bool> restarting_ = false;
};

// The operation that a canonical request asks for; null: none.
const protocol::AskRow* ask_of(const http::RequestHead& head);
// Such a server has no path for this operation (external::errc::not_served). `what`: its name, or the path.
Error not_served(std::string_view model, const Descriptor& descriptor, std::string_view what);
// The error as an answer.
http::Response refusal(const Error& error);

}  // namespace corral::backends
