// An object of one loop, for callers on any loop: the call runs on the object's loop, and its result returns to the
// caller's loop. Cancelling the caller cancels the call.
#pragma once

#include <type_traits>
#include <utility>

#include "async/task.h"

namespace corral::async {

template <typename T>
class OnLoop {
 public:
  // `object` outlives every call. Both loops must run.
  OnLoop(T& object, Executor home) : object_(object), home_(home) {}

  template <typename R, typename... Parameters>
  Task<R> call(Task<R> (T::*method)(Parameters...), std::type_identity_t<Parameters>... arguments) const {
    return run_on(home_, (object_.*method)(std::forward<Parameters>(arguments)...));
  }
  // Runs `work(object)`, which does not wait.
  template <typename Work, typename R = std::invoke_result_t<Work&, T&>>
  Task<R> run(Work work) const {
    static_assert(!requires { typename R::executor_type; }, "a task: use call()");
    return run_on(home_, done(object_, std::move(work)));
  }

 private:
  template <typename Work, typename R = std::invoke_result_t<Work&, T&>>
  static Task<R> done(T& object, Work work) {
    co_return work(object);
  }

  T& object_;
  const Executor home_;
};

}  // namespace corral::async
