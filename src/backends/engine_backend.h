// The recipe "llamacpp", served by corral's own engine: engine processes (`corral engine`) behind Unix sockets.
//
// A warm spare, which has found its compute backends and loaded nothing, waits for the next model: so loads need no
// process start and library loading. The next spare starts after the load that took the last one.
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
  std::filesystem::path program;      // the binary whose sub-command `engine` is the engine process
  std::filesystem::path runtime_dir;  // for sockets; only this server uses it
  std::filesystem::path log_dir;      // one file per process; empty: none
  bool warm_spare = true;
  // From the end of a load to the start of the next spare, because its start slows down the first response.
  Millis spare_delay{0};
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

  // Checks that the sockets in this folder have short enough names; otherwise no model could be loaded. Error:
  // invalid_option, with the limit.
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
  // With parts on other nodes: see split_backend.h.
  std::unique_ptr<WrappedServer> create_split(ModelPtr model, const LoadOptions& options, EngineSplit split);
  async::Task<void> stop() override;

 private:
  friend class EngineProcess;
  // A process that waits for its load order, and its future socket.
  struct Started {
    std::unique_ptr<proc::Child> child;
    std::filesystem::path socket;
    std::vector<std::string> argv;
    std::filesystem::path log_file;  // empty: none
    bool spare = false;              // it was a warm spare
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
  std::string cpu_backend_;      // as reported by the latest process
  std::optional<bool> has_gpu_;  // as shown by the latest process that could have used a GPU
  std::set<std::string> seen_;   // kinds of GPUs that a process has confirmed
  std::uint64_t last_number_ = 0;
  std::optional<Started> spare_;
  bool stopping_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::backends
