// A local model that is loaded together with RPC workers on other nodes: the engine's recipe, with the parts of one
// plan. The plan belongs to its load, so other loads of the model can't be confused with it. The plan sets its local
// memory, not the whole file or the engine's own choice.
//
// One backend for one plan: llama.cpp keeps endpoints for the life of a process, and a process serves one load. On the
// home loop.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/engine_backend.h"
#include "backends/engine_protocol.h"

namespace corral::backends {

struct EngineSplit {
  std::vector<RemotePart> remotes;  // in the order of their layers
  double own_share = 0;
  GivenMemory memory;  // of this machine
};

class SplitBackend final : public Backend {
 public:
  // `engines` must outlive it and what it creates.
  SplitBackend(EngineBackend& engines, EngineSplit split) : engines_(engines), split_(std::move(split)) {}

  std::string_view recipe() const override { return engines_.recipe(); }
  Result<LoadOptions> resolve(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> check_files(ModelPtr model, LoadOptions options) override;
  Device device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const override;
  async::Task<Result<MemoryEstimate>> estimate(ModelPtr model, LoadOptions options) override;
  std::optional<MemoryEstimate> known_estimate(const models::ModelInfo& model,
                                               const LoadOptions& options) const override;
  std::optional<GivenMemory> given_memory(const models::ModelInfo&, const LoadOptions&, Device) const override {
    return split_.memory;
  }
  std::uint64_t context(const models::ModelInfo& model, const LoadOptions& options, std::uint64_t free) const override;
  std::uint64_t rough_bound(const models::ModelInfo&, const LoadOptions&) const override { return split_.memory.total; }
  // Always succeeds: the plan was made for the available memory.
  async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) override;
  std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) override;
  async::Task<void> stop() override;

 private:
  EngineBackend& engines_;
  const EngineSplit split_;
};

}  // namespace corral::backends
