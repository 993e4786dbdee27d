// Checks a request before a model is evicted for it. A process with the model's vocabulary but without its weights
// (Backend::create_checker) reads the request like the engine: template, schema, grammar, tokens, length. It stays for
// a while, so that a client that repeats its mistake gets the error at once.
//
// On the home loop.
#pragma once

#include <memory>
#include <string>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "router/base/upstream.h"
#include "router/instances/running_instance.h"

namespace corral::router {

class RequestChecks {
 public:
  // `timers` must outlive it.
  RequestChecks(async::Executor home, async::Timers& timers) : home_(home), timers_(timers), tasks_(home) {}

  // Success also if the check is impossible or too slow. Errors: the fault of the request, with the fact
  // RefusedRequest; backend_died if the request ended the process.
  async::Task<Result<>> check(std::shared_ptr<const LoadSpec> spec, std::shared_ptr<const AskedRequest> asked);

  // Ends the process. Once.
  async::Task<void> stop();
  std::size_t tasks() const { return tasks_.running(); }

 private:
  struct Checker;
  struct Asking;
  using CheckerPtr = std::shared_ptr<Checker>;

  // The checker of this model with the options of its load; starts it if need be. nullptr: its recipe has none, or
  // another one is busy: only one exists at a time.
  CheckerPtr checker_for(const LoadSpec& spec);
  async::Task<Result<>> checked(const LoadSpec& spec, const AskedRequest& asked);
  void forget(const CheckerPtr& checker);
  async::Task<void> live(CheckerPtr checker);

  const async::Executor home_;
  async::Timers& timers_;
  CheckerPtr latest_;
  async::TaskGroup tasks_;
};

}  // namespace corral::router
