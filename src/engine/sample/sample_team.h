// Threads that help a worker to choose tokens where that takes long: with the whole vocabulary as candidates a token
// costs milliseconds, and 16 of them more than the pass they come from. They sleep otherwise, so that none spins beside
// the threads that compute. Used by one thread; the destructor joins.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace corral::engine {

class SampleTeam {
 public:
  SampleTeam() = default;
  ~SampleTeam();
  SampleTeam(const SampleTeam&) = delete;
  SampleTeam& operator=(const SampleTeam&) = delete;

  // Calls job(0) .. job(count - 1), each once and in any order, on `threads` threads at most, this one among them. All
  // have returned when it does. Jobs don't throw. Where the system gives no more threads, those there are must do.
  void run(std::uint32_t count, std::uint32_t threads, const std::function<void(std::uint32_t)>& job);

 private:
  void help();
  bool work(std::unique_lock<std::mutex>& lock);
  void hire(std::size_t helpers) noexcept;

  std::mutex mutex_;
  std::condition_variable wanted_, done_;
  const std::function<void(std::uint32_t)>* job_ = nullptr;
  std::uint32_t next_ = 0, count_ = 0;
  std::uint32_t under_way_ = 0;
  std::uint32_t places_ = 0;  // helpers that may still join
  bool end_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace corral::engine
