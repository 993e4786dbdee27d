// Ends requests to an external server that would never end: a request of which the program has taken and sent no byte
// for some time, and all requests when the server ends or is given up.
//
// RequestLimit: safe on every thread. A WatchedRequest belongs to the loop of its request.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/timer.h"
#include "base/error.h"
#include "base/mutex.h"
#include "http/handler.h"

namespace corral::backends {

class WatchedRequest;

// Of one server.
class RequestLimit {
 public:
  // `timers` must outlive every request. `model`: for messages.
  RequestLimit(async::Timers& timers, Millis limit, std::string model)
      : timers_(timers), limit_(limit), model_(std::move(model)) {}

  // Ends all requests (backends::errc::backend_died), and later ones at once.
  void give_up();

 private:
  friend class WatchedRequest;
  Error given_up() const;
  Error stalled() const;

  async::Timers& timers_;
  const Millis limit_;
  const std::string model_;
  Mutex mutex_;  // held for one step in the map
  bool given_up_ GUARDED_BY(mutex_) = false;
  std::map<const WatchedRequest*, std::weak_ptr<WatchedRequest>> running_ GUARDED_BY(mutex_);
};

// One request, from its arrival to the end of its answer. At first it waits for its turn, which may take any time.
class WatchedRequest : public std::enable_shared_from_this<WatchedRequest> {
 public:
  static std::shared_ptr<WatchedRequest> begin(std::shared_ptr<RequestLimit> limit, async::Executor executor);
  ~WatchedRequest();

  // The program has the next step from now on: it must take or send a byte within the limit. Call it again after each
  // byte.
  void program_works() { since_ = limit_->timers_.now(); }
  // The client has the next step from now on; it has limits of its own.
  void client_works() { since_.reset(); }

  // Why the request must end; empty: it continues.
  const std::optional<Error>& failure() const { return failure_; }
  // Returns when it must end.
  static async::Task<void> until_over(std::shared_ptr<WatchedRequest> request);
  // The result of `answering`, which is cancelled if the request must end first. Errors: external::errc::stalled,
  // backends::errc::backend_died, those of `answering`.
  static async::Task<Result<http::Response>> limited(std::shared_ptr<WatchedRequest> request,
                                                     async::Task<Result<http::Response>> answering);

 private:
  friend class RequestLimit;
  static async::Task<bool> until_woken(std::shared_ptr<WatchedRequest> request);
  WatchedRequest(std::shared_ptr<RequestLimit> limit, async::Executor executor)
      : limit_(std::move(limit)), executor_(executor), wake_(executor) {}

  const std::shared_ptr<RequestLimit> limit_;
  const async::Executor executor_;
  async::Event wake_;              // set when the server ends
  std::optional<MonoTime> since_;  // the program has the next step since then; empty: the client, or the queue
  std::optional<Error> failure_;
};

}  // namespace corral::backends
