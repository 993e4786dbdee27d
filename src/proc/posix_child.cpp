#include "proc/posix_child.h"

#include <array>
#include <cerrno>
#include <csignal>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/write.hpp>

#include "async/event.h"
#include "base/log.h"
#include "proc/log_sink.h"
#include "proc/stop.h"

namespace corral::proc {

namespace asio = async::asio;
using async::Task;

namespace {

using Descriptor = asio::posix::basic_stream_descriptor<async::Executor>;
constexpr std::size_t kChunk = 32 * 1024;
// Bytes read from one pipe before other tasks of the loop run. Also the most that is read after the end, if a process
// outside the group keeps writing.
constexpr std::size_t kBytesPerTurn = 256 * 1024;

}  // namespace

// Lives until the child is reaped and its output has ended, or the owner is destroyed: each watching task has a share.
struct PosixChild::Process {
  struct Output {
    Output(async::Executor executor, UniqueFd fd, bool is_stderr, std::size_t line_bytes)
        : pipe(executor, fd.get()), from_stderr(is_stderr), splitter(line_bytes) {
      fd.release();
    }
    Descriptor pipe;
    const bool from_stderr;
    LineSplitter splitter;
  };

  Process(async::Executor executor, async::Timers& clock, const ChildSpec& spec, Launched& launched)
      : name(spec.name),
        timers(clock),
        bytes_per_second(spec.log.bytes_per_second),
        pid(launched.process.program()),
        handle(std::move(launched.process)),
        end_watch(executor, handle.pidfd()),
        out(executor, std::move(launched.out), false, spec.log.line_bytes),
        err(executor, std::move(launched.err), true, spec.log.line_bytes),
        pipes(spec.pipes),
        in(executor),
        sink(spec),
        ended(executor) {
    if (launched.in) in.assign(launched.in.release());
  }
  ~Process() { forget_pidfd(); }

  const std::string name;
  async::Timers& timers;
  const std::size_t bytes_per_second;
  const pid_t pid;
  ProcessHandle handle;  // owns the pidfd
  Descriptor end_watch;  // borrows it
  Output out, err;
  const bool pipes;  // `out` is read by the owner
  Descriptor in;
  LogSink sink;
  async::Event ended;
  std::optional<ExitStatus> status;

  void forget_pidfd() {
    if (end_watch.is_open()) end_watch.release();
  }

  // False at the end of the output. `total`: bytes read.
  bool read_output(Output& from, std::size_t& total, std::size_t max = kBytesPerTurn) {
    const auto take = [&](std::string line) { sink.add(from.from_stderr, std::move(line)); };
    std::array<char, kChunk> buffer;
    for (total = 0; total < max;) {
      if (!from.pipe.is_open()) return false;
      const auto count = ::read(from.pipe.native_handle(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return true;
      if (count <= 0) {
        from.splitter.finish(take);
        close(from);
        return false;
      }
      total += static_cast<std::size_t>(count);
      from.splitter.feed({buffer.data(), static_cast<std::size_t>(count)}, take);
    }
    return true;
  }

  static void close(Output& output) {
    boost::system::error_code ignored;
    output.pipe.close(ignored);
  }

  void end() {
    // A group never outlives its leader. Its id is still ours: the leader isn't reaped yet.
    handle.send(SIGKILL);
    for (auto* output : {&out, &err}) {
      if (pipes && output == &out) continue;
      std::size_t read = 0;
      if (read_output(*output, read))
        output->splitter.finish([&](std::string line) { sink.add(output->from_stderr, std::move(line)); });
    }
    forget_pidfd();
    status = handle.reap();
    log::debug("proc", "{} (pid {}) {}", name, pid, status->describe());
    ended.set();
  }

  // The owner is destroyed.
  void abandon() {
    sink.mute();
    close(out);
    close(err);
    boost::system::error_code ignored;
    in.close(ignored);
    if (status) return;
    handle.send(SIGKILL);
    // Often it has already ended; otherwise watch() ends it.
    if (handle.ended()) end();
  }

  static Task<void> watch(std::shared_ptr<Process> self) {
    while (!self->status) {
      const auto [error] = co_await self->end_watch.async_wait(Descriptor::wait_read, async::as_value);
      if (self->status) co_return;
      if (error) throw boost::system::system_error(error);
      if (self->handle.ended()) self->end();
    }
  }

  static Task<void> pump(std::shared_ptr<Process> self, Output* output) {
    while (output->pipe.is_open()) {
      const auto [error] = co_await output->pipe.async_wait(Descriptor::wait_read, async::as_value);
      const std::size_t pace = self->bytes_per_second;
      std::size_t read = 0;
      if (error || !self->read_output(*output, read, pace == 0 ? kBytesPerTurn : kChunk)) co_return;
      // Its pipe fills up meanwhile, and the child waits.
      if (pace == 0) continue;
      const Millis pause(read * 1000 / pace);
      co_await self->timers.sleep_for(pause);
    }
  }

  static Task<Result<>> write(std::shared_ptr<Process> self, std::string text) {
    if (!self->in.is_open()) co_return fail(errc::channel_closed, "its input is closed");
    const auto bytes = asio::buffer(text);
    const auto [error, count] = co_await asio::async_write(self->in, bytes, async::as_value);
    if (error) co_return fail(errc::channel_closed, "it reads no more of its input");
    co_return Result<>();
  }

  static Task<Result<std::string>> read(std::shared_ptr<Process> self) {
    std::string piece(kChunk, '\0');
    while (self->out.pipe.is_open()) {
      const auto count = ::read(self->out.pipe.native_handle(), piece.data(), piece.size());
      if (count > 0) {
        piece.resize(static_cast<std::size_t>(count));
        co_return piece;
      }
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) break;
      if (errno != EAGAIN) co_return fail(errc::channel_closed, "its output can't be read");
      const auto [error] = co_await self->out.pipe.async_wait(Descriptor::wait_read, async::as_value);
      if (error) co_return fail(errc::channel_closed, "its output is closed");
    }
    co_return std::string();
  }

  static Task<ExitStatus> wait(std::shared_ptr<Process> self) {
    co_await self->ended.wait();
    co_return *self->status;
  }
};

PosixChild::PosixChild(async::Executor executor, async::Timers& timers, const ChildSpec& spec, Launched launched)
    : timers_(timers), process_(std::make_shared<Process>(executor, timers, spec, launched)) {
  if (launched.control) control_ = std::make_unique<ControlChannel>(executor, std::move(launched.control));
  // These end with the process: killed by the destructor at the latest. They are in no TaskGroup, because watch() reaps
  // the process after its owner is gone, and a group would end it before.
  const auto failed = [name = spec.name](const std::exception_ptr& failure) {
    if (failure) log::error("proc", "lost sight of {}", name);
  };
  asio::co_spawn(executor, Process::watch(process_), failed);
  if (!spec.pipes) asio::co_spawn(executor, Process::pump(process_, &process_->out), failed);
  asio::co_spawn(executor, Process::pump(process_, &process_->err), failed);
}

PosixChild::~PosixChild() { process_->abandon(); }

const std::string& PosixChild::name() const { return process_->name; }
pid_t PosixChild::pid() const { return process_->pid; }
bool PosixChild::alive() const { return !process_->status; }
Task<ExitStatus> PosixChild::wait() { return Process::wait(process_); }
void PosixChild::kill(int signal) { process_->handle.send(signal); }
const LogTail& PosixChild::log() const { return process_->sink.tail(); }
Task<Result<>> PosixChild::write_input(std::string text) { return Process::write(process_, std::move(text)); }
Task<Result<std::string>> PosixChild::read_output() { return Process::read(process_); }
void PosixChild::close_input() {
  boost::system::error_code ignored;
  process_->in.close(ignored);
}
Task<ExitStatus> PosixChild::stop(MonoClock::duration grace) { return stop_gracefully(this, &timers_, grace); }

}  // namespace corral::proc
