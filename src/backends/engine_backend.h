// The recipe "llamacpp", served by our own engine: `corral engine` as a child process behind a Unix socket.
//
// A spare child, with its compute backends found and nothing loaded, waits for the next model: that takes process start
// and library loading out of every swap. A new spare is started once the load that took the last one is over.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "async/task_group.h"
#include "async/timer.h"
#include "backends/files.h"
#include "backends/memory_predictor.h"
#include "backends/wrapped_server.h"
#include "base/host_memory.h"
#include "proc/child.h"

namespace corral::backends {

struct EngineSplit;

struct EngineBackendOptions {
  std::filesystem::path program;      // the binary whose `engine` sub-command is the child
  std::filesystem::path runtime_dir;  // for sockets; ours alone
  std::filesystem::path log_dir;      // one file per child; empty: none
  bool warm_spare = true;
  Millis spare_delay{
      0};  // from the end of a load to the start of the next spare: its start takes a core from the first answer
  std::filesystem::path estimates_file = {};  // see MemoryPredictorOptions
  std::string engine_version = {};
  FilesOptions files = {};
  std::function<HostMemory()> host_memory = [] { return read_host_memory(); };
};

class EngineBackend final : public Backend {
 public:
  // `timers` and `spawner` must outlive the backend; everything on `home`'s loop.
  EngineBackend(async::Executor home, async::Timers& timers, proc::Spawner& spawner, EngineBackendOptions options);
  ~EngineBackend() override;

  // Whether sockets in this folder have names that the system takes; else no model could ever be loaded. Error:
  // invalid_option, with how long it may be.
  static Result<> check_runtime_dir(const std::filesystem::path& folder);

  // Starts the first spare.
  void start();

  std::string_view recipe() const override { return "llamacpp"; }
  Result<LoadOptions> resolve(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> check_files(ModelPtr model, LoadOptions options) override;
  std::uint64_t files_state(const models::ModelInfo& model, const LoadOptions& options) const override;
  Device device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const override;
  async::Task<Result<MemoryEstimate>> estimate(ModelPtr model, LoadOptions options) override;
  std::optional<MemoryEstimate> known_estimate(const models::ModelInfo& model,
                                               const LoadOptions& options) const override;
  std::uint64_t context(const models::ModelInfo& model, const LoadOptions& options, std::uint64_t free) const override;
  std::uint64_t rough_bound(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) override;
  std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) override;
  std::unique_ptr<WrappedServer> create_checker(ModelPtr model, const LoadOptions& options) override;
  // With parts on other machines: see split_backend.h.
  std::unique_ptr<WrappedServer> create_split(ModelPtr model, const LoadOptions& options, EngineSplit split);
  async::Task<void> stop() override;

 private:
  friend class EngineProcess;
  // A child that waits for its load line, and where it listens once it is ready.
  struct Started {
    std::unique_ptr<proc::Child> child;
    std::filesystem::path socket;
    std::vector<std::string> argv;
    bool spare = false;  // has waited for its order
  };

  async::Task<Result<Started>> take();
  async::Task<Result<Started>> spawn();
  void want_spare(Millis delay);
  async::Task<void> make_spare(Millis delay);

  const async::Executor home_;
  async::Timers& timers_;
  proc::Spawner& spawner_;
  const EngineBackendOptions options_;
  Files files_;
  MemoryPredictor predictor_;
  std::string cpu_backend_;      // as the latest child said
  std::optional<bool> has_gpu_;  // the engine, as the latest child has shown that might have used one
  std::set<std::string> seen_;   // kinds of GPUs that a child has said yes to
  std::uint64_t last_number_ = 0;
  std::optional<Started> spare_;
  bool stopping_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::backends
