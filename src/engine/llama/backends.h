// Process-wide set-up of ggml and libllama. The only global state here, because theirs is global.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ggml-backend.h>

#include "base/error.h"

namespace corral::engine {

// The version of libllama this was built for, and of the one that runs.
std::string_view built_for_llama_version();
std::string_view running_llama_version();

// Finds the compute backends (CPU variants, GPU, RPC) and checks libllama's version. Takes some tens of milliseconds,
// so a warm spare does it before it gets a model. Only the first call works; later calls return its result. Safe on
// every thread. `directory` empty: $CORRAL_LLAMA_BACKEND_DIR, else the folder of ggml. Errors: version_mismatch;
// load_failed if there is no backend at all.
Result<> load_backends(std::string directory = {});

// File of the CPU's compute backend, one of a dozen variants; empty if it is part of the program. A later process of
// the same installation that finds it in $CORRAL_CPU_BACKEND need not try all variants (10 to 20 ms). The variable is
// used only if there is no other compute backend to load, and only if the file still works here.
std::string cpu_backend_file();

// Loads any working compute backend of a CPU and no other: for processes that look at models and compute nothing.
// False: there is none.
bool load_some_cpu();

// A compute device as libllama sees it.
struct ComputeDevice {
  std::string name;         // "CPU", "CUDA0", ...
  std::string description;  // "Intel ...", ...
  bool gpu = false;
  std::uint64_t memory_total = 0, memory_free = 0;  // bytes
};
ComputeDevice describe(ggml_backend_dev_t device);

}  // namespace corral::engine
