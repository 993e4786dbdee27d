// A share of a model that another machine of the mesh hosts: not a model that can be asked, but a process that computes
// layers for an engine there (`corral rpc-worker`, remote/). The router books and watches it like any other server; its
// Unix socket is for whoever carries the bytes of that engine.
//
// One backend for one share. On the home loop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "async/timer.h"
#include "backends/wrapped_server.h"
#include "proc/child.h"

namespace corral::backends {

struct ShareOptions {
  std::filesystem::path program;      // the binary whose `rpc-worker` sub-command is the child
  std::filesystem::path runtime_dir;  // for sockets; ours alone
  std::filesystem::path log_dir;      // empty: none
  std::uint32_t threads = 1;          // of a CPU
  Millis watchdog{0};                 // one that gives no sign of life for so long has hung, and is killed; 0: never
  std::filesystem::path proc = "/";   // holds proc/; another one for tests
};

struct ShareOrder {
  std::uint64_t number = 0;       // of this server's run, for names
  std::uint64_t bytes = 0;        // that it may take
  std::filesystem::path cache;    // for weights that come again; empty: none
  std::uint64_t cache_bytes = 0;  // that a file of these may have
  std::string llama;              // the version that it must have; empty: any
};

// The name that shares have in the house, where models have theirs. `host`: whose it is.
ModelPtr share_model(const std::string& host, std::uint64_t bytes);

class ShareBackend final : public Backend {
 public:
  // `timers` and `spawner` must outlive it.
  ShareBackend(async::Executor home, async::Timers& timers, proc::Spawner& spawner, ShareOptions options,
               ShareOrder order);

  const std::filesystem::path& socket() const { return socket_; }
  // llama.cpp's version as the process says it, once it is ready.
  const std::string& llama() const { return llama_; }

  std::string_view recipe() const override { return "share"; }
  Result<LoadOptions> resolve(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> check_files(ModelPtr model, LoadOptions options) override;
  Device device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const override;
  async::Task<Result<MemoryEstimate>> estimate(ModelPtr model, LoadOptions options) override;
  std::optional<MemoryEstimate> known_estimate(const models::ModelInfo& model,
                                               const LoadOptions& options) const override;
  std::optional<GivenMemory> given_memory() const override { return GivenMemory{order_.bytes, 0}; }
  std::uint64_t context(const models::ModelInfo&, const LoadOptions&, std::uint64_t) const override { return 0; }
  std::uint64_t rough_bound(const models::ModelInfo&, const LoadOptions&) const override { return order_.bytes; }
  async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) override;
  std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) override;
  async::Task<void> stop() override;

 private:
  friend class ShareProcess;
  proc::ChildSpec spec() const;

  const async::Executor home_;
  async::Timers& timers_;
  proc::Spawner& spawner_;
  const ShareOptions options_;
  const ShareOrder order_;
  const std::filesystem::path socket_;
  std::string llama_;
};

}  // namespace corral::backends
