#include "mesh/members/durable_file.h"

#include <deque>
#include <exception>
#include <system_error>
#include <utility>

#include "async/event.h"
#include "async/task_group.h"

namespace corral::mesh {

using async::Task;

struct DurableFile::State {
  struct Change {
    MakeText make;
    Done done;
  };
  struct Disk {
    Disk(async::Executor on, async::ThreadPool& with) : loop(on), threads(with), tasks(on) {}
    async::Executor loop;
    async::ThreadPool& threads;
    async::TaskGroup tasks;
  };

  std::filesystem::path file;
  Durability what;
  std::optional<Disk> disk;
  std::deque<Change> waiting;
  bool working = false;
};

namespace {

// Turns exceptions into errors, because a caller waits for the result.
Result<> write(const std::filesystem::path& file, std::string_view text, Durability what) {
  try {
    return write_state_file(file, text, what);
  } catch (const std::exception& failure) {
    return fail(std::errc::io_error, failure.what());
  }
}

Task<bool> joined(async::TaskGroup& tasks) {
  co_await tasks.join();
  co_return true;
}

}  // namespace

DurableFile::DurableFile(std::filesystem::path file, Durability what)
    : state_(std::make_shared<State>(std::move(file), what)) {}

const std::filesystem::path& DurableFile::path() const { return state_->file; }

void DurableFile::use_disk(async::Executor loop, async::ThreadPool& disk) { state_->disk.emplace(loop, disk); }

void DurableFile::change(MakeText make, Done done) {
  if (state_->disk) {
    state_->waiting.push_back({std::move(make), std::move(done)});
    if (!std::exchange(state_->working, true)) state_->disk->tasks.spawn("mesh: a file", work(state_));
    return;
  }
  const auto text = make();
  Result<> result;
  if (!text) result = std::unexpected(text.error());
  if (text && *text) result = write(state_->file, **text, state_->what);
  done(result);
}

Task<void> DurableFile::work(std::shared_ptr<State> state) {
  while (!state->waiting.empty()) {
    const auto change = std::move(state->waiting.front());
    state->waiting.pop_front();
    auto text = change.make();
    Result<> result;
    if (!text) result = std::unexpected(text.error());
    if (text && *text) {
      auto writing = [file = state->file, text = std::move(**text), what = state->what] {
        return write(file, text, what);
      };
      auto run = state->disk->threads.run(std::move(writing));
      result = co_await std::move(run);
    }
    change.done(result);
  }
  state->working = false;
}

Task<Result<>> DurableFile::changed(MakeText make, Done done) {
  if (!state_->disk) {
    Result<> result;
    change(std::move(make), [&](const Result<>& ended) {
      done(ended);
      result = ended;
    });
    co_return result;
  }
  struct Waiting {
    explicit Waiting(async::Executor loop) : ended(loop) {}
    async::Event ended;
    Result<> result;
  };
  const auto waiting = std::make_shared<Waiting>(state_->disk->loop);
  change(std::move(make), [waiting, done = std::move(done)](const Result<>& result) {
    done(result);
    waiting->result = result;
    waiting->ended.set();
  });
  co_await waiting->ended.wait();
  co_return waiting->result;
}

Task<bool> DurableFile::finish(async::Timers& timers, Millis within) const {
  const auto state = state_;
  if (!state->disk || state->disk->tasks.running() == 0) co_return true;
  auto joining = joined(state->disk->tasks);
  const auto done = co_await async::with_timeout(timers, within, std::move(joining));
  co_return done.has_value();
}

}  // namespace corral::mesh
