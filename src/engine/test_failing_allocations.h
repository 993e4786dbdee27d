// For tests: which allocations of a thread fail (test_failing_new.h makes them).
#pragma once

#include <cstdint>

namespace corral::engine::test {

class FailingAllocations {
 public:
  // The allocation with this number from now on fails, and as many behind it as `times` says. 0: none.
  void begin(std::uint32_t number, std::uint32_t times = 1) {
    in_ = number;
    times_ = times;
  }
  // None from now on. True: one has failed since begin().
  bool end() {
    const bool failed = failed_;
    in_ = times_ = 0;
    failed_ = false;
    return failed;
  }

  bool counts() const { return in_ > 0 && watched_; }
  bool fails() {
    if (in_ > 1) {
      --in_;
      return false;
    }
    failed_ = true;
    if (--times_ == 0) in_ = 0;
    return true;
  }
  // Allocations count only while this is set.
  // Returns what it was.
  bool watch(bool on) {
    const bool before = watched_;
    watched_ = on;
    return before;
  }

 private:
  std::uint32_t in_ = 0;
  std::uint32_t times_ = 0;
  bool failed_ = false;
  bool watched_ = false;
};

extern thread_local constinit FailingAllocations failing_allocations;

// Allocations count, or don't, for as long as it lives.
class Watched {
 public:
  explicit Watched(bool on) : before_(failing_allocations.watch(on)) {}
  ~Watched() { failing_allocations.watch(before_); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  const bool before_;
};

}  // namespace corral::engine::test
