// State of one running embedding or rerank request: a pooling worker writes it, a PooledHandle reads it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/pooled/pooled.h"
#include "engine/threads/client_quota.h"
#include "engine/threads/in_flight.h"
#include "engine/threads/waker.h"

namespace corral::engine {

class PooledState {
 public:
  struct Job {
    std::vector<std::vector<Token>> inputs;  // each 1 .. n_batch tokens
    bool normalize = true;
    bool scores = false;  // only the first value of each input counts
    std::string client = {};
  };
  // Its parts of the limits, until it is done.
  struct Place {
    InFlight::Ticket ticket;
    ClientQuota::Held request = {}, tokens = {};
  };
  PooledState(Job job, Place place) : job_(std::move(job)), place_(std::move(place)) {
    result_.values.resize(job_.inputs.size());
  }

  const Job& job() const { return job_; }

  // --- the worker ---
  void begin(MonoTime now);
  // The values of one input; the last one to come completes the job.
  void set(std::size_t input, std::vector<float> values, MonoTime now);
  void set_failed(Error error);
  bool done() const;
  bool cancelled() const { return cancelled_; }

  // --- the reader ---
  Result<PooledResult> get();
  std::optional<Result<PooledResult>> try_get();
  void set_waker(std::move_only_function<void()> waker);
  void abandon();

 private:
  // False: it was complete already. If not, the caller calls announce(), without the mutex.
  bool complete(Result<PooledResult> outcome) REQUIRES(mutex_);
  void announce() EXCLUDES(mutex_);

  const Job job_;
  std::atomic<bool> cancelled_ = false;

  mutable Mutex mutex_;
  Condition changed_;
  PooledResult result_ GUARDED_BY(mutex_);
  std::size_t computed_ GUARDED_BY(mutex_) = 0;
  std::optional<MonoTime> begun_ GUARDED_BY(mutex_);
  std::optional<Result<PooledResult>> outcome_ GUARDED_BY(mutex_);
  Place place_ GUARDED_BY(mutex_);
  bool done_ GUARDED_BY(mutex_) = false;

  Waker waker_;
};

}  // namespace corral::engine
