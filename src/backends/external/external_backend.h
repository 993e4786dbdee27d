// A recipe that an external program serves, as its descriptor says: one class for all of them.
//
// An external program is isolated: it gets a clean environment (no key, no token), its own process group and folder,
// and a bounded log. It ends with the server. It gets a request only after corral has verified that the listening
// process is the one that it started. So its crash, hang or flood affects only itself.
//
// Everything on `home`'s loop; reads of /proc or disks run on threads.
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
#include "backends/files.h"
#include "backends/wrapped_server.h"
#include "proc/child.h"

namespace corral::backends {

struct ExternalBackendOptions {
  std::filesystem::path runtime_dir;  // for sockets; only this server uses it
  std::filesystem::path log_dir;      // one file per process; empty: none
  std::filesystem::path work_dir;     // parent of folders for programs without one; empty: the server's folder
  std::vector<std::filesystem::path> program_dirs = {};                          // searched before PATH
  std::function<std::optional<std::string>(std::string_view)> environment = {};  // corral's own, for {env.NAME}
  FilesOptions files = {};
  async::ThreadPool* threads = nullptr;  // for reads of /proc and large bodies; nullptr: on the loop
  MeasuredMemory* measured = nullptr;    // nullptr: nothing is stored
  std::function<PortOwner(std::uint16_t port, pid_t leader)> port_owner = [](std::uint16_t port, pid_t leader) {
    return owner_of_port(port, leader);
  };
  // Bytes of these processes on GPUs; unset: unknown.
  std::function<std::uint64_t(const std::vector<pid_t>&)> gpu_bytes = {};
};

struct ExternalFormat;
class RequestReports;

class ExternalBackend final : public Backend {
 public:
  // `timers`, `spawner` and the references in `options` must outlive it. `entries`: of its recipe.
  ExternalBackend(async::Executor home, async::Timers& timers, proc::Spawner& spawner, DescriptorPtr descriptor,
                  std::vector<ModelEntry> entries, ExternalBackendOptions options);
  ~ExternalBackend() override;

  const Descriptor& descriptor() const { return *descriptor_; }
  DescriptorPtr descriptor_ptr() const { return descriptor_; }
  // For later loads; running servers keep theirs. `descriptor` has the same recipe.
  void change(DescriptorPtr descriptor, std::vector<ModelEntry> entries);
  // The descriptor of this model: includes its own entry.
  DescriptorPtr descriptor_of(const models::ModelInfo& model) const;
  // The path of its program. Errors: backend_not_installed, with the command that installs it.
  Result<std::filesystem::path> program_of(const Descriptor& descriptor) const;

  std::string_view recipe() const override { return recipe_; }
  Result<LoadOptions> resolve(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> check_files(ModelPtr model, LoadOptions options) override;
  std::uint64_t files_state(const models::ModelInfo& model, const LoadOptions& options) const override;
  Device device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const override;
  async::Task<Result<MemoryEstimate>> estimate(ModelPtr model, LoadOptions options) override;
  std::optional<MemoryEstimate> known_estimate(const models::ModelInfo& model,
                                               const LoadOptions& options) const override;
  std::optional<GivenMemory> given_memory(const models::ModelInfo& model, const LoadOptions& options,
                                          Device device) const override;
  std::uint64_t context(const models::ModelInfo& model, const LoadOptions& options, std::uint64_t free) const override;
  std::uint64_t rough_bound(const models::ModelInfo& model, const LoadOptions& options) const override;
  std::optional<Millis> load_deadline(const models::ModelInfo& model) const override;
  bool attached(const models::ModelInfo& model) const override;
  std::optional<LoadOptions> configured(const ModelName& model) const override;
  bool knows_contexts() const override { return false; }
  async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) override;
  std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) override;
  async::Task<void> stop() override { co_return; }

 private:
  friend class ExternalProcess;
  friend class AttachedServer;
  friend class ExecServer;

  // The path of the program `name`, for an error of this descriptor.
  Result<std::filesystem::path> find(const std::string& name, const Descriptor& descriptor) const;
  // The placeholder values of a load, except its address.
  PlaceholderValues values_for(const models::ModelInfo& model, const Descriptor& descriptor,
                               const LoadOptions& options) const;
  std::shared_ptr<ExternalFormat> words_for(const models::ModelInfo& model, const DescriptorPtr& descriptor,
                                            const PlaceholderValues& values,
                                            std::shared_ptr<RequestReports> reports) const;
  // The process of this descriptor: its environment, folder and log limits.
  proc::ChildSpec spec_of(const Descriptor& descriptor, std::vector<std::string> argv, const PlaceholderValues& values);
  std::string memory_key(const models::ModelInfo& model, const LoadOptions& options) const;
  std::uint64_t ruled_bytes(const models::ModelInfo& model) const;

  const async::Executor home_;
  async::Timers& timers_;
  proc::Spawner& spawner_;
  const std::string recipe_;
  DescriptorPtr descriptor_;
  std::vector<ModelEntry> entries_;
  const ExternalBackendOptions options_;
  Files files_;
  std::uint64_t last_number_ = 0;  // of a process
};

// Usual time limit of a load without a deadline in the descriptor: a minute, plus the bytes of its files at the speed
// of a slow disk.
Millis usual_load_deadline(Bytes size);

}  // namespace corral::backends
