#include "base/large_stack.h"

#include <exception>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace corral {
namespace {

struct Job {
  const std::function<void()>& work;
  std::exception_ptr failure;
};

void* run(void* argument) {
  auto& job = *static_cast<Job*>(argument);
  try {
    job.work();
  } catch (...) {
    job.failure = std::current_exception();
  }
  return nullptr;
}

class Stack {
 public:
  explicit Stack(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    size_ = (bytes + kOrdinaryStack + page - 1) / page * page;  // includes the thread's own start
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    memory_ = ::mmap(nullptr, size_ + page, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (memory_ == MAP_FAILED) return;
    mapped_ = size_ + page;
    begin_ = static_cast<char*>(memory_) + page;
    if (::mprotect(memory_, page, PROT_NONE) != 0) begin_ = nullptr;
  }
  ~Stack() {
    if (mapped_ > 0) ::munmap(memory_, mapped_);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  bool start(pthread_t& thread, Job& job) const {
    pthread_attr_t attributes;
    if (begin_ == nullptr || ::pthread_attr_init(&attributes) != 0) return false;
    const bool started = ::pthread_attr_setstack(&attributes, begin_, size_) == 0 &&
                         ::pthread_create(&thread, &attributes, run, &job) == 0;
    ::pthread_attr_destroy(&attributes);
    return started;
  }

 private:
  std::size_t size_ = 0, mapped_ = 0;
  void* memory_ = nullptr;
  char* begin_ = nullptr;  // after the guard page
};

}  // namespace

bool run_with_stack(std::size_t bytes, const std::function<void()>& work) {
  const Stack stack(bytes);
  Job job{work, nullptr};
  pthread_t thread{};
  if (!stack.start(thread, job)) return false;
  ::pthread_join(thread, nullptr);
  if (job.failure) std::rethrow_exception(job.failure);
  return true;
}

}  // namespace corral
