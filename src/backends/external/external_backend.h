// A recipe that is served by somebody else's program, as its descriptor says: one class for all of them.
//
// A program of others is a stranger. It gets a clean environment (no key, no token), a process group and a folder of
// its own, a bounded log; it dies with the server; no request reaches it before it was seen that the process which
// listens is the one that was started. Its crash, hang or flood is its own.
//
// Everything on `home`'s loop; what looks at /proc or at disks does it on threads.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/timer.h"
#include "backends/external/known_backends.h"
#include "backends/external/measured_memory.h"
#include "backends/external/placeholders.h"
#include "backends/external/port.h"
#include "backends/external/stranger.h"
#include "backends/files.h"
#include "backends/wrapped_server.h"
#include "proc/child.h"

namespace corral::backends {

struct ExternalBackendOptions {
  std::filesystem::path runtime_dir;  // for sockets; ours alone
  std::filesystem::path log_dir;      // one file per child; empty: none
  std::filesystem::path work_dir;     // programs without a folder of their own run in one in here; empty: in ours
  std::vector<std::filesystem::path> program_dirs = {};  // where programs are looked for before PATH
  std::function<std::optional<std::string>(std::string_view)> environment = {};  // ours, for {env.NAME}
  FilesOptions files = {};
  async::ThreadPool* threads = nullptr;  // for looks at /proc and large bodies; none: on the loop
  MeasuredMemory* measured = nullptr;    // none: nothing is remembered
  std::function<PortOwner(std::uint16_t port, pid_t leader)> port_owner = [](std::uint16_t port, pid_t leader) {
    return owner_of_port(port, leader);
  };
  // Of these processes on GPUs, bytes; unset: not known.
  std::function<std::uint64_t(const std::vector<pid_t>&)> gpu_bytes = {};
};

struct ExternalFormat;

class ExternalBackend final : public Backend, public ExternalBackendTraits {
 public:
  // `timers`, `spawner` and what `options` refer to must outlive it. `entries`: of its recipe.
  ExternalBackend(async::Executor home, async::Timers& timers, proc::Spawner& spawner, DescriptorPtr descriptor,
                  std::vector<ModelEntry> entries, ExternalBackendOptions options);
  ~ExternalBackend() override;

  const Descriptor& descriptor() const { return *descriptor_; }
  // For this model: with what its entry says.
  DescriptorPtr descriptor_of(const models::ModelInfo& model) const;
  // Where its program is. Errors: backend_not_installed, with the command that installs it.
  Result<std::filesystem::path> program_of(const Descriptor& descriptor) const;

  std::string_view recipe() const override { return descriptor_->recipe; }
  Result<LoadOptions> resolve(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> check_files(ModelPtr model, LoadOptions options) override;
  std::uint64_t files_state(const models::ModelInfo& model, const LoadOptions& options) const override;
  Device device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const override;
  async::Task<Result<MemoryEstimate>> estimate(ModelPtr model, LoadOptions options) override;
  std::optional<MemoryEstimate> known_estimate(const models::ModelInfo& model,
                                               const LoadOptions& options) const override;
  GivenMemory expected_memory(const models::ModelInfo& model, const LoadOptions& options, Device device) const override;
  std::uint64_t context(const models::ModelInfo& model, const LoadOptions& options, std::uint64_t free) const override;
  std::uint64_t rough_bound(const models::ModelInfo& model, const LoadOptions& options) const override;
  Millis load_deadline(const models::ModelInfo& model) const override;
  bool attached(const models::ModelInfo& model) const override;
  LoadOptions configured(const ModelName& model) const override;
  async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) override;
  std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) override;
  async::Task<void> stop() override { co_return; }

 private:
  friend class ExternalProcess;
  friend class AttachedServer;
  friend class ExecServer;

  // What stands for the placeholders of a load, but for where it listens.
  PlaceholderValues values_for(const models::ModelInfo& model, const Descriptor& descriptor,
                               const LoadOptions& options) const;
  std::shared_ptr<ExternalFormat> words_for(const models::ModelInfo& model, const DescriptorPtr& descriptor,
                                            const PlaceholderValues& values) const;
  // A child of this descriptor: its environment, its folder, its log's bounds.
  proc::ChildSpec spec_of(const Descriptor& descriptor, std::vector<std::string> argv, const PlaceholderValues& values);
  std::string memory_key(const models::ModelInfo& model, const LoadOptions& options) const;
  std::uint64_t ruled_bytes(const models::ModelInfo& model) const;

  const async::Executor home_;
  async::Timers& timers_;
  proc::Spawner& spawner_;
  const DescriptorPtr descriptor_;
  const std::vector<ModelEntry> entries_;
  const ExternalBackendOptions options_;
  Files files_;
  std::uint64_t last_number_ = 0;  // of a child
};

// What one load takes at most before it has failed, unless the descriptor says so: a minute, plus the bytes of its
// files at the speed of a slow disk.
Millis usual_load_deadline(Bytes size);

}  // namespace corral::backends
