// Prepares requests: parses, renders, tokenizes, builds grammars. Small requests have their own threads (the quick
// lane), so that none of them waits for a large one; large requests (the heavy lane) share a few threads of lower
// priority. In both lanes clients take turns (fair_queue.h); of one client's large requests, smaller and older ones are
// first.
//
// A job whose client has disconnected doesn't start, and a running one is stopped (CancelToken). The queue is limited
// in number and bytes, in total and per client.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "async/offload.h"
#include "base/error.h"
#include "engine_server/preparation/fair_queue.h"
#include "engine_server/signal.h"

namespace corral::engine_server {

// Long work checks this between its pieces.
class CancelToken {
 public:
  CancelToken() = default;  // never
  explicit CancelToken(const std::atomic<bool>& flag) : flag_(&flag) {}
  bool wanted() const { return flag_ && flag_->load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

struct PreparationLimits {
  FairQueue::Limits waiting = {};  // requests and bytes of their bodies, running ones included
  std::size_t heavy_threads = 2;
  std::uint64_t trim_bytes = 512 * 1024;  // after a body of this size free memory goes back to the system
};

// Safe on every thread. The destructor stops all jobs and waits for the running ones.
class Preparation {
 public:
  // `quick` must outlive it, and runs the quick lane.
  explicit Preparation(async::ThreadPool& quick, PreparationLimits limits = {});
  ~Preparation();
  // Drops waiting jobs and stops running ones, permanently.
  void stop();

  // The client of a job, and the size of its body.
  struct Cause {
    std::string client;
    std::uint64_t bytes = 0;
  };
  // Runs `work(stop)`, which returns a Result and owns what it uses, and returns its result on the caller's loop.
  // Cancelling the task drops the work if it has not begun. Errors: engine::errc::queue_full; those of `work`.
  template <typename Work, typename R = std::invoke_result_t<Work&, const CancelToken&>>
  async::Task<R> run(Lane lane, Cause cause, Work work) {
    const auto executor = co_await async::asio::this_coro::executor;
    const auto signal = std::make_shared<Signal>(executor);
    struct Outcome {
      std::optional<R> result;
      std::exception_ptr failure;
    };
    const auto outcome = std::make_shared<Outcome>();
    auto call = [outcome, wake = waker_of(signal), work = std::move(work)](const CancelToken& stop) mutable {
      try {
        outcome->result.emplace(work(stop));
      } catch (...) {
        outcome->failure = std::current_exception();
      }
      wake();
    };
    auto place = enter(lane, cause, std::move(call));
    if (!place) co_return std::unexpected(std::move(place.error()));
    co_await signal->event.wait();
    if (outcome->failure) std::rethrow_exception(outcome->failure);
    co_return std::move(*outcome->result);
  }

  FairQueue::Numbers numbers() const;

 private:
  using Call = std::move_only_function<void(const CancelToken&)>;
  struct Job;
  struct State;
  // Removes the job from its lane when destroyed.
  class Place {
   public:
    explicit Place(std::shared_ptr<Job> job) : job_(std::move(job)) {}
    Place(Place&&) noexcept = default;
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    std::shared_ptr<Job> job_;
  };
  Result<Place> enter(Lane lane, const Cause& cause, Call call);

  const std::shared_ptr<State> state_;
  async::ThreadPool& quick_;
  async::ThreadPool heavy_;
};

}  // namespace corral::engine_server
