// Threads that help a worker to sample if that takes long: with the whole vocabulary as candidates a token costs
// milliseconds, and 16 of them more than their pass. They sleep otherwise, so that they do not spin beside the compute
// threads. Used by one thread; the destructor joins.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace corral::engine {

class SamplerPool {
 public:
  SamplerPool() = default;
  ~SamplerPool();
  SamplerPool(const SamplerPool&) = delete;
  SamplerPool& operator=(const SamplerPool&) = delete;

  // Calls job(0) .. job(count - 1), each once and in any order, on `threads` threads at most, this one among them.
  // Returns when all jobs have returned. Jobs must not throw. If no further thread can be started, the existing ones do
  // all jobs.
  void run(std::uint32_t count, std::uint32_t threads, const std::function<void(std::uint32_t)>& job);

 private:
  void help();
  bool work() REQUIRES(mutex_);
  void hire(std::size_t helpers) noexcept;

  Mutex mutex_;
  Condition wanted_, done_;
  const std::function<void(std::uint32_t)>* job_ GUARDED_BY(mutex_) = nullptr;
  std::uint32_t next_ GUARDED_BY(mutex_) = 0, count_ GUARDED_BY(mutex_) = 0;
  std::uint32_t under_way_ GUARDED_BY(mutex_) = 0;
  std::uint32_t places_ GUARDED_BY(mutex_) = 0;  // helpers that may still join
  bool end_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> helpers_;
};

}  // namespace corral::engine
