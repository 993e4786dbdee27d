// A count of what is under way, right however that ends.
#pragma once

#include <cstddef>

namespace corral {

// Adds one for as long as it lives. The count outlives it; both belong to one loop.
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
