#include "backends/split_backend.h"

#include <algorithm>

#include "base/context_size.h"

namespace corral::backends {
namespace {

MemoryEstimate estimate_of(const GivenMemory& memory) {
  const auto dynamic = std::min(memory.dynamic, memory.total);
  MemoryEstimate estimate;
  estimate.devices = {{.device = "cpu", .weights = memory.total - dynamic, .kv = dynamic}};
  return estimate;
}

}  // namespace

// A growing context would also grow on the other nodes, beyond their grants.
Result<LoadOptions> SplitBackend::resolve(const models::ModelInfo& model, const LoadOptions& options) const {
  auto resolved = engines_.resolve(model, options);
  if (!resolved || *resolved->ctx_size > 0) return resolved;
  const std::uint64_t trained = model.traits.context_length;
  const std::uint64_t first = trained == 0 ? kFirstContext : std::min<std::uint64_t>(kFirstContext, trained);
  resolved->ctx_size = std::max(static_cast<std::int64_t>(first), *resolved->parallel);
  return resolved;
}

async::Task<Result<>> SplitBackend::check_files(ModelPtr model, LoadOptions options) {
  return engines_.check_files(std::move(model), std::move(options));
}
Device SplitBackend::device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const {
  return engines_.device(model, options, machine);
}
async::Task<Result<MemoryEstimate>> SplitBackend::estimate(ModelPtr, LoadOptions) {
  co_return estimate_of(split_.memory);
}
std::optional<MemoryEstimate> SplitBackend::known_estimate(const models::ModelInfo&, const LoadOptions&) const {
  return estimate_of(split_.memory);
}
std::uint64_t SplitBackend::context(const models::ModelInfo&, const LoadOptions& options, std::uint64_t) const {
  const auto all = std::max<std::int64_t>(options.ctx_size.value_or(0), 0);
  return static_cast<std::uint64_t>(std::min(all, context_of_request(options)));
}
async::Task<Result<>> SplitBackend::preflight(ModelPtr, LoadOptions) { co_return Result<>(); }
std::unique_ptr<WrappedServer> SplitBackend::create(ModelPtr model, const LoadOptions& options) {
  return engines_.create_split(std::move(model), options, split_);
}
async::Task<void> SplitBackend::stop() { co_return; }

}  // namespace corral::backends
