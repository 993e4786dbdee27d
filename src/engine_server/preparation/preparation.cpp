#include "engine_server/preparation/preparation.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/heap.h"
#include "base/mutex.h"
#include "base/thread_priority.h"
#include "engine/values/errors.h"

namespace corral::engine_server {

struct Preparation::State {
  explicit State(PreparationLimits the_limits) : limits(the_limits), queue(the_limits.waiting) {}

  const PreparationLimits limits;
  Mutex mutex;
  FairQueue queue GUARDED_BY(mutex);
  std::unordered_map<FairQueue::Ticket, std::shared_ptr<Job>> jobs GUARDED_BY(mutex);  // that wait or run
};

struct Preparation::Job {
  Job(std::shared_ptr<State> the_state, std::uint64_t the_bytes, Call the_call)
      : state(std::move(the_state)), bytes(the_bytes), call(std::move(the_call)) {}

  const std::shared_ptr<State> state;
  const std::uint64_t bytes;
  FairQueue::Ticket ticket = 0;
  std::atomic<bool> stop = false;
  Call call;  // under the state's mutex; empty once it was taken
};

namespace {

Error queue_full(const FairQueue::Full& full) {
  const auto& [jobs, bytes] = full.held;
  auto message =
      fmt::format("{} requests of {} MiB in all are being prepared{}, and no more can wait: retry in a second", jobs,
                  bytes >> 20, full.share ? " for this client" : "");
  Error error(make_error_code(engine::errc::queue_full), std::move(message));
  error.retry_after = std::chrono::seconds(1);
  return error;
}

// Lowers the priority of this thread, since its work may take long.
void yield_to_others() {
  constexpr int kNice = 5;
  static thread_local bool lowered = false;
  if (!std::exchange(lowered, true)) lower_priority(kNice);
}

}  // namespace

Preparation::Preparation(async::ThreadPool& quick, PreparationLimits limits)
    : state_(std::make_shared<State>(limits)), quick_(quick), heavy_(limits.heavy_threads) {}

Preparation::~Preparation() {
  stop();
  heavy_.finish();
  decltype(state_->jobs) never_run;  // they and the state refer to each other
  const MutexLock lock(state_->mutex);
  never_run.swap(state_->jobs);
}

void Preparation::stop() {
  std::vector<Call> dropped;  // destroyed outside the lock
  const MutexLock lock(state_->mutex);
  for (const auto& [ticket, job] : state_->jobs) {
    job->stop = true;
    if (job->call) dropped.push_back(std::exchange(job->call, nullptr));
  }
}

FairQueue::Numbers Preparation::numbers() const {
  const MutexLock lock(state_->mutex);
  return state_->queue.numbers();
}

Preparation::Place::~Place() {
  if (!job_) return;
  Call dropped;  // destroyed outside the lock
  auto& state = *job_->state;
  const MutexLock lock(state.mutex);
  job_->stop = true;
  if (!job_->call) return;
  dropped = std::exchange(job_->call, nullptr);
  state.queue.leave(job_->ticket);
  state.jobs.erase(job_->ticket);
}

Result<Preparation::Place> Preparation::enter(Lane lane, const Cause& cause, Call call) {
  auto job = std::make_shared<Job>(state_, cause.bytes, std::move(call));
  {
    const MutexLock lock(state_->mutex);
    const auto ticket = state_->queue.enter(lane, cause.client, cause.bytes);
    if (!ticket) return std::unexpected(queue_full(ticket.error()));
    job->ticket = *ticket;
    state_->jobs.emplace(*ticket, job);
  }
  // One turn per job; a turn without a waiting job does nothing.
  auto take_turn = [state = state_, lane] {
    std::shared_ptr<Job> next;
    Call taken;
    {
      const MutexLock lock(state->mutex);
      const auto ticket = state->queue.next(lane);
      const auto job = ticket ? state->jobs.find(*ticket) : state->jobs.end();
      if (job == state->jobs.end()) return;
      next = job->second;
      taken = std::exchange(next->call, nullptr);
    }
    if (lane == Lane::heavy) yield_to_others();
    if (taken) taken(CancelToken(next->stop));  // otherwise the server is stopping
    taken = nullptr;
    bool trim = next->bytes >= state->limits.trim_bytes;
    {
      const MutexLock lock(state->mutex);
      trim = trim && !state->queue.waits(Lane::heavy);
    }
    if (trim) heap::give_back();
    const MutexLock lock(state->mutex);
    state->queue.leave(next->ticket);
    state->jobs.erase(next->ticket);
  };
  (lane == Lane::quick ? quick_ : heavy_).post(std::move(take_turn));
  return Place(std::move(job));
}

}  // namespace corral::engine_server
