#include "engine_server/preparation.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/heap.h"
#include "engine/errors.h"

namespace corral::engine_server {

struct Preparation::State {
  explicit State(PreparationLimits the_limits) : limits(the_limits) {}

  const PreparationLimits limits;
  std::mutex mutex;
  Numbers numbers;
  std::uint64_t entered = 0;
  std::vector<std::shared_ptr<Job>> all;    // that wait or run
  std::vector<std::shared_ptr<Job>> heavy;  // that wait
};

struct Preparation::Job {
  Job(std::shared_ptr<State> the_state, std::uint64_t the_bytes, Call the_call)
      : state(std::move(the_state)), bytes(the_bytes), call(std::move(the_call)) {}

  const std::shared_ptr<State> state;
  const std::uint64_t bytes;
  std::uint64_t rank = 0;  // smaller comes first
  std::atomic<bool> stop = false;
  Call call;  // under the state's mutex; empty once it was taken
};

namespace {

// A request that came later comes first only if it is smaller by more than this for each that came between.
constexpr std::uint64_t kAgeing = 256 * 1024;

// For threads whose work may take long: the others' comes first.
void yield_to_others() {
  static thread_local const int done = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 5);
  (void)done;
}

}  // namespace

Preparation::Preparation(async::ThreadPool& quick, PreparationLimits limits)
    : state_(std::make_shared<State>(limits)), quick_(quick), heavy_(limits.heavy_threads) {}

Preparation::~Preparation() {
  stop();
  heavy_.finish();
}

void Preparation::stop() {
  std::vector<Call> dropped;  // let go outside the lock
  const std::lock_guard lock(state_->mutex);
  for (const auto& job : state_->all) {
    job->stop = true;
    if (job->call) dropped.push_back(std::exchange(job->call, nullptr));
  }
}

Preparation::Numbers Preparation::numbers() const {
  const std::lock_guard lock(state_->mutex);
  return state_->numbers;
}

Preparation::Place::~Place() {
  if (!job_) return;
  Call dropped;  // what it holds is let go outside the lock
  auto& state = *job_->state;
  const std::lock_guard lock(state.mutex);
  job_->stop = true;
  if (!job_->call) return;
  dropped = std::exchange(job_->call, nullptr);
  std::erase(state.heavy, job_);
  std::erase(state.all, job_);
  --state.numbers.jobs;
  state.numbers.bytes -= job_->bytes;
}

Result<Preparation::Place> Preparation::enter(Lane lane, std::uint64_t bytes, Call call) {
  auto job = std::make_shared<Job>(state_, bytes, std::move(call));
  {
    const std::lock_guard lock(state_->mutex);
    auto& numbers = state_->numbers;
    const auto& limits = state_->limits;
    // One is always taken, however large.
    if (numbers.jobs > 0 && (numbers.jobs >= limits.waiting || numbers.bytes + bytes > limits.waiting_bytes)) {
      Error full(
          make_error_code(engine::errc::queue_full),
          fmt::format("{} requests of {} MiB in all are being made ready, more can't wait: try again in a second",
                      numbers.jobs, numbers.bytes >> 20));
      full.retry_after = std::chrono::seconds(1);
      return std::unexpected(std::move(full));
    }
    ++numbers.jobs;
    numbers.bytes += bytes;
    job->rank = bytes + kAgeing * state_->entered++;
    state_->all.push_back(job);
    if (lane == Lane::heavy) state_->heavy.push_back(job);
  }
  auto take_turn = [state = state_, own = lane == Lane::quick ? job : nullptr] {
    std::shared_ptr<Job> next = own;
    Call taken;
    {
      const std::lock_guard lock(state->mutex);
      if (!next) {
        const auto first = std::ranges::min_element(state->heavy, {}, [](const auto& one) { return one->rank; });
        if (first == state->heavy.end()) return;
        next = *first;
        state->heavy.erase(first);
      }
      if (!next->call) return;
      taken = std::exchange(next->call, nullptr);
    }
    if (!own) yield_to_others();
    taken(Stop(next->stop));
    taken = nullptr;
    bool trim = next->bytes >= state->limits.trim_bytes;
    {
      const std::lock_guard lock(state->mutex);
      trim = trim && state->heavy.empty();
    }
    if (trim) heap::give_back();
    const std::lock_guard lock(state->mutex);
    std::erase(state->all, next);
    --state->numbers.jobs;
    state->numbers.bytes -= next->bytes;
  };
  (lane == Lane::quick ? quick_ : heavy_).post(std::move(take_turn));
  return Place(std::move(job));
}

}  // namespace corral::engine_server
