// Servers of an external backend: a process that is started for one model, and one that already runs.
#pragma once

#include <optional>

#include "async/event.h"
#include "async/task_group.h"
#include "backends/external/external_backend.h"
#include "backends/external/external_target.h"

namespace corral::backends {

class ExternalProcess final : public WrappedServer {
 public:
  ExternalProcess(ExternalBackend& backend, ModelPtr model, DescriptorPtr descriptor, LoadOptions options);
  ~ExternalProcess() override;

  async::Task<Result<>> load(Hooks hooks) override;
  async::Task<void> stop(Millis grace) override;
  // External programs can't be downsized.
  async::Task<bool> downsize() override { co_return false; }
  async::Task<std::string> wait_for_exit() override;
  http::Target& target(async::Executor executor) override { return targets_->on(executor); }
  ServerFacts facts() const override;
  std::filesystem::path log_file() const override { return log_file_; }
  std::uint64_t work() const override;

 private:
  // One attempt. `taken`: another program took the port first.
  async::Task<Result<>> start(bool& taken);
  async::Task<Result<>> spawn();
  async::Task<Result<>> until_ready(bool& taken);
  // Ends the work on a request that was left, for descriptors with Cancel::restart. Other requests keep waiting for
  // `place`.
  void restart(RequestGate::Place place);
  async::Task<void> run_again(RequestGate::Place place);
  async::Task<Result<>> poll(std::shared_ptr<std::string> seen);
  async::Task<PortOwner> port_owner();
  async::Task<void> measure();
  async::Task<void> run_stop_command(Millis grace);
  Error crash(const proc::ExitStatus& status) const;
  // After the end of the process.
  void end();
  void remove_socket() const;

  ExternalBackend& backend_;
  const ModelPtr model_;
  const DescriptorPtr descriptor_;
  const LoadOptions options_;
  PlaceholderValues values_;
  std::vector<std::string> argv_;
  std::filesystem::path socket_;
  std::filesystem::path log_file_;
  std::uint16_t port_ = 0;
  std::shared_ptr<proc::Child> child_;  // of the latest start; shared with waiters for its end
  std::shared_ptr<RequestReports> reports_;
  std::shared_ptr<ExternalRequests> requests_;
  std::optional<ExternalTargets> targets_;
  // For calls from other loops, which come on the home loop; null after the end of this object.
  const std::shared_ptr<ExternalProcess*> self_ = std::make_shared<ExternalProcess*>(this);
  bool is_ready_ = false;    // it has been loaded, and isn't being stopped
  bool restarting_ = false;  // `restarted_` is set at the end of it
  async::Event restarted_;
  bool listens_ = false;
  std::uint64_t answers_ = 0;  // while it loads: a server that responds "not yet" is alive
  async::TaskGroup tasks_;
};

// Starts and stops nothing; only checks that the server responds.
class AttachedServer final : public WrappedServer {
 public:
  AttachedServer(ExternalBackend& backend, ModelPtr model, DescriptorPtr descriptor, LoadOptions options);

  async::Task<Result<>> load(Hooks hooks) override;
  async::Task<void> stop(Millis grace) override;
  async::Task<bool> downsize() override { co_return false; }
  async::Task<std::string> wait_for_exit() override;
  http::Target& target(async::Executor executor) override { return targets_->on(executor); }
  ServerFacts facts() const override;
  std::uint64_t work() const override { return 0; }

 private:
  ExternalBackend& backend_;
  const ModelPtr model_;
  const DescriptorPtr descriptor_;
  const LoadOptions options_;
  std::shared_ptr<RequestReports> reports_;
  std::optional<ExternalTargets> targets_;
  async::Event let_go_;
};

}  // namespace corral::backends
