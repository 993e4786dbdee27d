// Counts running operations, correct however they end.
#pragma once

#include <cstddef>

namespace corral {

// Adds one to the count while it lives. The count outlives it; both belong to one loop.
class Counted {
 public:
  explicit Counted(std::size_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& count_;
};

}  // namespace corral
