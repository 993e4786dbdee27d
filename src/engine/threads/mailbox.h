// Commands for an engine worker: any thread posts them, the decode thread takes them between two forward passes.
// Posting never waits for a pass. A command about a session whose prompt is in the running pass aborts that pass.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace corral::engine {

template <typename Command>
class Mailbox {
 public:
  // False if the mailbox is closed; then the command is dropped. `interrupts` is the session whose prompt needs no
  // further computing, or 0.
  bool post(Command command, std::uint64_t interrupts = 0) {
    {
      const MutexLock lock(mutex_);
      if (closed_) return false;
      commands_.push_back(std::move(command));
      if (interrupts != 0) {
        interrupts_.push_back(interrupts);
        if (std::ranges::find(interruptible_, interrupts) != interruptible_.end()) abort_ = true;
      }
    }
    changed_.notify_one();
    return true;
  }

  // Wakes the worker without a command.
  void wake() {
    {
      const MutexLock lock(mutex_);
      woken_ = true;
    }
    changed_.notify_one();
  }

  // Accepts no more commands and aborts the running pass.
  void close() {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      abort_ = true;
    }
    changed_.notify_one();
  }

  // For the worker: moves the commands into `commands`, in order. If `wait`, waits for a command or a wake-up, at most
  // until `until`. False when the mailbox is closed; commands that were posted before still come with it.
  bool take(std::vector<Command>& commands, bool wait, std::optional<MonoTime> until = std::nullopt) {
    MutexLock lock(mutex_);
    const auto happened = [this]() REQUIRES(mutex_) { return !commands_.empty() || woken_ || closed_; };
    if (wait && until) {
      changed_.wait_until(lock, *until, happened);
    } else if (wait) {
      changed_.wait(lock, happened);
    }
    commands.clear();
    commands.swap(commands_);
    interrupts_.clear();
    woken_ = false;
    return !closed_;
  }

  // For the worker, around a pass: sessions whose commands may abort it.
  void begin_pass(std::span<const std::uint64_t> interruptible) {
    const MutexLock lock(mutex_);
    interruptible_.assign(interruptible.begin(), interruptible.end());
    // Commands posted since the last take() can abort it, too.
    abort_ = closed_ || std::ranges::find_first_of(interruptible_, interrupts_) != interruptible_.end();
  }
  void end_pass() {
    const MutexLock lock(mutex_);
    interruptible_.clear();
  }
  // Read by the abort callback, many times a pass.
  const std::atomic<bool>& abort_flag() const { return abort_; }

 private:
  std::atomic<bool> abort_ = false;
  Mutex mutex_;  // never held while anything is called
  Condition changed_;
  std::vector<Command> commands_ GUARDED_BY(mutex_);
  std::vector<std::uint64_t> interruptible_ GUARDED_BY(mutex_);  // sessions with prompt tokens in the running pass
  std::vector<std::uint64_t> interrupts_ GUARDED_BY(mutex_);     // sessions with waiting commands
  bool woken_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace corral::engine
