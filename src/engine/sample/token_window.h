// The distinct tokens among the last n of a history. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

class TokenWindow {
 public:
  explicit TokenWindow(std::uint32_t n = 0) : n_(n) {}

  std::uint32_t size() const { return n_; }

  void push(Token token) {
    if (n_ == 0) return;
    add(token);
    if (recent_.size() < n_) {
      recent_.push_back(token);
      return;
    }
    remove(std::exchange(recent_[oldest_], token));
    oldest_ = (oldest_ + 1) % n_;
  }

  // Sorted.
  std::span<const Token> distinct() const { return distinct_; }

 private:
  void add(Token token) {
    const auto at = std::ranges::lower_bound(distinct_, token);
    const auto place = at - distinct_.begin();
    if (at != distinct_.end() && *at == token) {
      ++counts_[static_cast<std::size_t>(place)];
      return;
    }
    distinct_.insert(at, token);
    counts_.insert(counts_.begin() + place, 1);
  }
  void remove(Token token) {
    const auto at = std::ranges::lower_bound(distinct_, token);
    const auto place = at - distinct_.begin();
    if (--counts_[static_cast<std::size_t>(place)] > 0) return;
    distinct_.erase(at);
    counts_.erase(counts_.begin() + place);
  }

  std::uint32_t n_;
  std::vector<Token> recent_;  // a ring once it is full
  std::size_t oldest_ = 0;
  std::vector<Token> distinct_;
  std::vector<std::uint32_t> counts_;  // of each of them in the window
};

}  // namespace corral::engine
