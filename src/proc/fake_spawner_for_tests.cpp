#include "proc/fake_spawner_for_tests.h"

#include <algorithm>

#include "proc/stop.h"

namespace corral::proc {

using async::Task;

// The owner's side of a played process.
class FakeChild final : public Child {
 public:
  FakeChild(std::shared_ptr<FakeProcess> process, async::Timers& timers)
      : process_(std::move(process)), timers_(timers) {}
  ~FakeChild() override {
    process_->log_.mute();
    process_->receive(SIGKILL);
    if (process_->parent_side_) process_->parent_side_->close();
  }

  const std::string& name() const override { return process_->spec_.name; }
  pid_t pid() const override { return process_->pid_; }
  bool alive() const override { return process_->alive(); }
  Task<ExitStatus> wait() override { return end_of(process_); }
  void kill(int signal) override { process_->receive(signal); }
  Task<ExitStatus> stop(MonoClock::duration grace) override { return stop_gracefully(this, &timers_, grace); }
  const LogTail& log() const override { return process_->log_.tail(); }
  ControlChannel* control() override { return process_->parent_side_.get(); }
  Task<Result<>> write_input(std::string text) override {
    if (!process_->alive()) co_return fail(errc::channel_closed, "it reads no more of its input");
    process_->input_ += text;
    co_return Result<>();
  }
  void close_input() override { process_->input_closed_ = true; }
  Task<Result<std::string>> read_output() override { return output_of(process_); }

 private:
  static Task<ExitStatus> end_of(std::shared_ptr<FakeProcess> process) {
    co_await process->ended_.wait();
    co_return *process->status_;
  }

  static Task<Result<std::string>> output_of(std::shared_ptr<FakeProcess> process) {
    auto piece = co_await process->output_.receive();
    co_return piece.value_or(std::string());
  }

  std::shared_ptr<FakeProcess> process_;
  async::Timers& timers_;
};

FakeProcess::FakeProcess(async::Executor executor, ChildSpec spec, pid_t pid)
    : spec_(std::move(spec)), pid_(pid), log_(spec_), ended_(executor), output_(executor) {
  if (!spec_.control_channel) return;
  if (auto pair = make_socket_pair()) {
    parent_side_ = std::make_unique<ControlChannel>(executor, std::move(pair->ours));
    child_side_ = std::make_unique<ControlChannel>(executor, std::move(pair->theirs));
  }
}

void FakeProcess::print(std::string_view line, bool to_stderr) {
  if (alive()) log_.add(to_stderr, clean_text(line));
}

void FakeProcess::write(std::string bytes) {
  if (alive()) output_.send(std::move(bytes));
}

void FakeProcess::exit(int code) { end(ExitStatus::exited(code)); }
void FakeProcess::die(int signal) { end(ExitStatus::killed(signal)); }

void FakeProcess::receive(int signal) {
  if (!alive()) return;
  signals_.push_back(signal);
  if (signal == SIGKILL || (signal == SIGTERM && !ignores_terminate_)) die(signal);
}

void FakeProcess::end(ExitStatus status) {
  if (!alive()) return;
  status_ = status;
  if (child_side_) child_side_->close();
  output_.close();
  ended_.set();
}

namespace {

// Keeps the script's captures alive for as long as it runs.
Task<void> play(FakeSpawner::Script script, std::shared_ptr<FakeProcess> process) {
  auto run = script(std::move(process));
  co_await std::move(run);
}

}  // namespace

Task<Result<std::unique_ptr<Child>>> FakeSpawner::spawn(ChildSpec spec) {
  const auto executor = co_await async::asio::this_coro::executor;
  if (next_failure) co_return std::unexpected(*std::exchange(next_failure, std::nullopt));
  constexpr pid_t kFirstPid = 1'000'000'000;  // no real process has it, should a test signal it by mistake
  auto process =
      std::make_shared<FakeProcess>(executor, std::move(spec), kFirstPid + static_cast<pid_t>(processes_.size()));
  processes_.push_back(process);
  auto child = std::make_unique<FakeChild>(process, timers_);
  if (!scripts_) scripts_ = std::make_unique<async::TaskGroup>(executor);
  if (script) scripts_->spawn("played process", play(script, process));
  co_return child;
}

std::size_t FakeSpawner::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(processes_, [](const auto& process) { return process->alive(); }));
}

}  // namespace corral::proc
