// A share of a model of another node: not a model for requests, but an RPC worker (`corral rpc-worker`, remote/) that
// computes layers for an engine there. The router accounts for it and watches it like any other process; its Unix
// socket carries the bytes of that engine.
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
  std::filesystem::path program;      // the binary whose sub-command `rpc-worker` is the process
  std::filesystem::path runtime_dir;  // for sockets; only this server uses it
  std::filesystem::path log_dir;      // empty: none
  std::uint32_t threads = 1;          // of the CPU
  Millis watchdog{0};                 // silence after which it counts as hung and is killed; 0: never
  std::filesystem::path proc = "/";   // parent of proc/; another one for tests
};

struct ShareOrder {
  std::uint64_t number = 0;       // unique in this server's run, for names
  std::uint64_t bytes = 0;        // limit of its memory
  std::filesystem::path cache;    // for weights that are sent again; empty: none
  std::uint64_t cache_bytes = 0;  // size limit of one of its files
  std::string llama;              // the required version; empty: any
};

// The model that stands for a share in the core. `host`: the node with the engine.
ModelPtr share_model(const std::string& host, std::uint64_t bytes);

class ShareBackend final : public Backend {
 public:
  // `timers` and `spawner` must outlive it.
  ShareBackend(async::Executor home, async::Timers& timers, proc::Spawner& spawner, ShareOptions options,
               ShareOrder order);

  const std::filesystem::path& socket() const { return socket_; }
  // llama.cpp's version as the process reports it, once it is ready.
  const std::string& llama() const { return llama_; }

  std::string_view recipe() const override { return "share"; }
  Result<LoadOptions> resolve(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> check_files(ModelPtr model, LoadOptions options) override;
  Device device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const override;
  async::Task<Result<MemoryEstimate>> estimate(ModelPtr model, LoadOptions options) override;
  std::optional<MemoryEstimate> known_estimate(const models::ModelInfo& model,
                                               const LoadOptions& options) const override;
  std::optional<GivenMemory> given_memory(const models::ModelInfo&, const LoadOptions&, Device) const override {
    return GivenMemory{order_.bytes, 0};
  }
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
