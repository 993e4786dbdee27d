// What a load will take, known before it: libllama's own dry run with the parameters of the real load. The model is
// laid out without its weights, a context without its cells, and asked for the size of each buffer.
//
// Takes as long as reading the vocabulary (some hundred milliseconds for a large one) and blocks. `process` is what the
// calling process occupies in the middle of the dry run, so it is right only where nothing else has been loaded: in a
// fresh process like the one that will load (`corral engine --estimate`).
//
// Not counted: parked conversations (EngineLoadOptions::park_bytes), what requests need while they run.
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

// Whether the contexts of a model that is in memory fit beside everything else, into the host's memory and into that of
// each GPU. Quick unless they are large, then a dry run. The system grants memory that isn't there and kills whoever
// touches it, and a GPU out of memory may end the process, so this is asked before. Errors: never_fits (more than there
// is altogether), out_of_memory (more than there is now), with Error::memory for each that has too little.
Result<> check_contexts_fit(const Model& model, const EngineLoadOptions& options, const HostMemory& host);
// The same with what is known to be free. `host_total`: 0 for not known.
Result<> check_contexts_fit(const Model& model, const EngineLoadOptions& options, std::uint64_t host_total,
                            std::span<const DeviceBudget> free);

// Bytes that the contexts of a model hardly exceed, by its shape alone: more than they take, and known at once. Errors:
// as of context_params.
Result<std::uint64_t> context_bound(const Model& model, const EngineLoadOptions& options);

// What a token more takes of each memory in `contexts` contexts like this one, and what is free for them besides:
// measured on this one, and never too little. Pages of the weights that are mapped don't count as free. Microseconds.
// Empty: nothing is known of a memory that they have a part in.
std::vector<ContextMemory> context_memory(const Model& model, const EngineLoadOptions& options,
                                          const llama_context* context, std::uint32_t contexts, const HostMemory& host);

// What of a load failed: all of it, or a context of one worker beside weights that are in memory.
enum class FailedPart { all, context };

// An out_of_memory of libllama's, which says no numbers, with what the failed part needs and what is free: on the
// devices that have too little, or on all where that doesn't show. A load that no device could ever hold becomes
// never_fits, with what the device has altogether. Takes a dry run or two. Other errors stay as they are.
Error explain_failure(Error error, const EngineLoadOptions& options, const HostMemory& host,
                      FailedPart part = FailedPart::all);

}  // namespace corral::engine
