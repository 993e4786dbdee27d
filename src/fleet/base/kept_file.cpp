#include "fleet/base/kept_file.h"

#include <exception>
#include <system_error>
#include <utility>

#include "async/run_or_leave.h"

namespace corral::fleet {

using async::Task;

namespace {

// Also handles exceptions, since a caller waits for the result.
Result<> written_by(const KeptFile::Write& write, const std::filesystem::path& file, std::string_view text) {
  try {
    return write(file, text);
  } catch (const std::exception& failure) {
    return fail(std::errc::io_error, failure.what());
  }
}

// For with_timeout(), which needs a result.
Task<bool> joined(async::TaskGroup& tasks) {
  co_await tasks.join();
  co_return true;
}

}  // namespace

KeptFile::KeptFile(async::Executor executor, async::Timers& timers, async::ThreadPool& disk, std::filesystem::path file,
                   Write write)
    : timers_(timers), disk_(disk), file_(std::move(file)), write_(std::move(write)), tasks_(executor) {}

void KeptFile::write(std::string text, Done done) {
  next_ = std::move(text);
  waiting_.push_back(std::move(done));
  if (tasks_.running() == 0) tasks_.spawn("mesh: a file", work());
}

Task<void> KeptFile::work() {
  while (next_) {
    const auto callbacks = std::exchange(waiting_, {});
    auto writing = [write = write_, file = file_, text = std::move(*std::exchange(next_, std::nullopt))] {
      return written_by(write, file, text);
    };
    began_ = timers_.now();
    auto run = async::run_or_leave(disk_, timers_, std::move(writing));
    const auto written = co_await std::move(run);
    began_.reset();
    for (const auto& done : callbacks)
      if (done) done(written);
  }
}

Task<bool> KeptFile::finish(Millis within) {
  auto joining = joined(tasks_);
  const auto done = co_await async::with_timeout(timers_, within, std::move(joining));
  co_await stop();
  co_return done.has_value();
}

Task<void> KeptFile::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace corral::fleet
