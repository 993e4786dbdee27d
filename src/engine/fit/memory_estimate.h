// Predicts the memory of a load, by libllama's dry run with the parameters of the real load: it lays out the model
// without weights and a context without cells, and returns the size of each buffer.
//
// Takes as long as reading the vocabulary (some hundred milliseconds for a large one) and blocks. `process` is what the
// calling process occupies in the middle of the dry run. So it is right only in a fresh process like the one that will
// load (`corral engine --estimate`).
//
// Not included: parked conversations (EngineLoadOptions::park_bytes), temporary memory of requests.
#pragma once

#include <span>
#include <vector>

#include "base/context_size.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/memory_estimate.h"
#include "engine/fit/memory_pools.h"
#include "engine/llama/model.h"
#include "engine/values/options.h"

namespace corral::engine {

// Calls load_backends() first. Errors: file_not_found, load_failed, invalid_argument, unsupported, version_mismatch.
Result<MemoryEstimate> estimate_memory(const EngineLoadOptions& options);

// Whether the contexts of a loaded model fit into the free memory of the host and of each GPU. Quick for small
// contexts; otherwise a dry run. Checked before the allocation, because the system grants memory that does not exist
// and kills the process that touches it, and a GPU without memory may end the process. Errors: never_fits (more than
// the total), out_of_memory (more than is free), with Error::memory for each memory that is too small.
Result<> check_contexts_fit(const Model& model, const EngineLoadOptions& options, const HostMemory& host);
// The same with known free memory. `host_total`: 0 if not known.
Result<> check_contexts_fit(const Model& model, const EngineLoadOptions& options, std::uint64_t host_total,
                            std::span<const DeviceBudget> free);

// Upper bound of the bytes of a model's contexts, by its shape alone; known at once. Errors: those of context_params.
Result<std::uint64_t> context_bound(const Model& model, const EngineLoadOptions& options);

// Memory per further token on each device, for `contexts` contexts like this one, and the free memory for them.
// Measured on this context, never too low. Mapped pages of weights are not treated as free. Takes microseconds. Empty:
// the free memory of one of the devices is not known.
std::vector<ContextMemory> context_memory(const Model& model, const EngineLoadOptions& options,
                                          const llama_context* context, std::uint32_t contexts, const HostMemory& host);

// Which part of a load failed: all, or a context of one worker beside loaded weights.
enum class FailedPart { all, context };

// Adds numbers to an out_of_memory of libllama: the need of the failed part and the free memory, of each device that is
// too small, or of all devices if none shows as too small. A load that can never fit becomes never_fits, with the total
// memory of the device. Takes one or two dry runs. Other errors stay as they are.
Error explain_failure(Error error, const EngineLoadOptions& options, const HostMemory& host,
                      FailedPart part = FailedPart::all);

}  // namespace corral::engine
