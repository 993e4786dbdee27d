// Mutex, MutexLock, Condition and SharedMutex: those of the standard library, with annotations that clang checks
// (-Wthread-safety). A member that is declared GUARDED_BY(mutex_) is accessible only where a MutexLock of mutex_ lives,
// and in functions that are declared REQUIRES(mutex_). Other compilers ignore the annotations.
//
// The analysis looks at one function at a time. A lambda is a function of its own: the predicate of a wait is written
// `[this]() REQUIRES(mutex_) { return done_; }`. Constructors and destructors are not checked.
#pragma once

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

#ifdef __clang__
#define CORRAL_THREAD_ANNOTATION(annotation) __attribute__((annotation))
#else
#define CORRAL_THREAD_ANNOTATION(annotation)
#endif

// --- types ---
#define CAPABILITY(name) CORRAL_THREAD_ANNOTATION(capability(name))
#define SCOPED_CAPABILITY CORRAL_THREAD_ANNOTATION(scoped_lockable)
// --- members: the member itself, or what a pointer member points to, is accessed only with the mutex locked ---
#define GUARDED_BY(mutex) CORRAL_THREAD_ANNOTATION(guarded_by(mutex))
#define PT_GUARDED_BY(mutex) CORRAL_THREAD_ANNOTATION(pt_guarded_by(mutex))
// --- mutexes: this one is never locked while the other is held; for readers: no build checks it ---
#define ACQUIRED_BEFORE(...) CORRAL_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))
// --- functions: the caller holds the mutex, or must not hold it; the function locks it, or unlocks it ---
#define REQUIRES(...) CORRAL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) CORRAL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) CORRAL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) CORRAL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) CORRAL_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) CORRAL_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS CORRAL_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace corral {

class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Locks the mutex for its lifetime, except between unlock() and lock().
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() RELEASE() { lock_.unlock(); }
  void lock() ACQUIRE() { lock_.lock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

// Each wait unlocks the mutex of `lock` and locks it again before it returns, and before it calls `predicate`.
class Condition {
 public:
  template <typename Predicate>
  void wait(MutexLock& lock, Predicate predicate) {
    changed_.wait(lock.lock_, std::move(predicate));
  }
  // False: the predicate is still false when the time is over.
  template <typename Duration, typename Predicate>
  bool wait_for(MutexLock& lock, const Duration& time, Predicate predicate) {
    return changed_.wait_for(lock.lock_, time, std::move(predicate));
  }
  template <typename TimePoint, typename Predicate>
  bool wait_until(MutexLock& lock, const TimePoint& end, Predicate predicate) {
    return changed_.wait_until(lock.lock_, end, std::move(predicate));
  }

  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

// Locked by one ExclusiveLock, or by any number of SharedLocks, under which guarded members are only read.
class CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  void lock_shared() ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class SCOPED_CAPABILITY ExclusiveLock {
 public:
  explicit ExclusiveLock(SharedMutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~ExclusiveLock() RELEASE() { mutex_.unlock(); }
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ~SharedLock() RELEASE() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace corral
