// A model of this machine that is loaded together with workers on others: the engine's recipe, with the parts of one
// plan. The plan travels with its load, so no other load of the model can be taken for it. What it takes here is the
// plan's word: neither the whole file, nor what the engine would choose by itself.
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
  std::optional<GivenMemory> given_memory() const override { return split_.memory; }
  std::uint64_t context(const models::ModelInfo& model, const LoadOptions& options, std::uint64_t free) const override;
  std::uint64_t rough_bound(const models::ModelInfo&, const LoadOptions&) const override { return split_.memory.total; }
  // The plan was made for what there is.
  async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) override;
  std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) override;
  async::Task<void> stop() override;

 private:
  EngineBackend& engines_;
  const EngineSplit split_;
};

}  // namespace corral::backends
