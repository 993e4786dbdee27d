// Limits that all connections of a server share: the bytes of large bodies, and the number of connections per address.
// Safe on every thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "base/mutex.h"

namespace corral::http {

class BodyBudget {
 public:
  // `limit` 0: no limit.
  explicit BodyBudget(std::uint64_t limit) : limit_(limit == 0 ? ~0ull : limit) {}

  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t left() const {
    const auto now = used();
    return now < limit_ ? limit_ - now : 0;
  }
  bool take(std::uint64_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> used_ = 0;
};

// An IPv4 address, or the network part of an IPv6 address, because such a network has 2^64 addresses for one owner.
using PeerAddress = std::uint64_t;

class AddressCount {
 public:
  explicit AddressCount(std::size_t limit) : limit_(limit) {}

  // False: the address has reached its limit; 0 is no limit. If true, call leave() later.
  bool enter(PeerAddress address) {
    if (limit_ == 0) return true;
    const MutexLock lock(mutex_);
    auto& count = counts_[address];
    if (count >= limit_) return false;
    ++count;
    return true;
  }
  void leave(PeerAddress address) {
    if (limit_ == 0) return;
    const MutexLock lock(mutex_);
    const auto found = counts_.find(address);
    if (found != counts_.end() && --found->second == 0) counts_.erase(found);
  }

 private:
  const std::size_t limit_;
  Mutex mutex_;
  std::map<PeerAddress, std::size_t> counts_ GUARDED_BY(mutex_);
};

}  // namespace corral::http
