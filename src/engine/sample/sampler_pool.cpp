#include "engine/sample/sampler_pool.h"

#include <algorithm>
#include <exception>

namespace corral::engine {

SamplerPool::~SamplerPool() {
  {
    const MutexLock lock(mutex_);
    end_ = true;
  }
  wanted_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void SamplerPool::hire(std::size_t helpers) noexcept {
  try {
    while (helpers_.size() < helpers) helpers_.emplace_back([this] { help(); });
  } catch (const std::exception&) {  // fewer helpers work, too
  }
}

void SamplerPool::run(std::uint32_t count, std::uint32_t threads, const std::function<void(std::uint32_t)>& job) {
  if (count == 0) return;
  const std::uint32_t helpers = std::min(threads, count) - std::min(threads, 1u);
  hire(helpers);
  MutexLock lock(mutex_);
  job_ = &job;
  next_ = 0;
  count_ = count;
  places_ = helpers;
  for (std::uint32_t i = 0; i < helpers; ++i) wanted_.notify_one();
  while (work()) {
  }
  done_.wait(lock, [this]() REQUIRES(mutex_) { return under_way_ == 0; });
  count_ = 0;
}

// One job, without the lock. False: all have been taken.
bool SamplerPool::work() {
  if (next_ == count_) return false;
  const std::uint32_t mine = next_++;
  ++under_way_;
  const auto& job = *job_;
  mutex_.unlock();
  job(mine);
  mutex_.lock();
  --under_way_;
  return true;
}

void SamplerPool::help() {
  MutexLock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this]() REQUIRES(mutex_) { return end_ || (places_ > 0 && next_ < count_); });
    if (end_) return;
    --places_;
    while (work()) {
    }
    if (under_way_ == 0) done_.notify_one();
  }
}

}  // namespace corral::engine
