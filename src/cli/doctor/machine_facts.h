// What `corral doctor` knows about the machine, apart from the server. Plain values; the composition root collects
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/host_memory.h"

namespace corral::cli {

// corral.service, as systemd sees it.
struct ServiceState {
  bool has_manager = false;   // systemd runs this machine
  bool is_installed = false;  // the unit exists
  std::string active = {};    // "active", "activating", "failed", "inactive", ...
  std::string result = {};    // of the last run: "success", "exit-code", "watchdog", ...
  std::string status = {};    // the server's own line
  std::int64_t restarts = 0;  // automatic ones since the start of the unit
};

struct MachineFacts {
  struct ComputeDevice {
    std::string name;         // "Vulkan0"
    std::string description;  // "NVIDIA RTX A2000"
    bool gpu = false;
    std::uint64_t total = 0, free = 0;  // bytes of memory
  };
  struct Folder {
    std::string setting;  // "models_dir"
    std::filesystem::path path;
    std::string reason = {};   // why it can't be used; empty: it can
    std::string command = {};  // the remedy
    std::uint64_t free = 0;    // bytes on its disk
    bool is_written = false;   // the server writes there
  };
  struct Refused {
    std::string path, why;
  };

  std::string cpu_backend = {};      // file of the CPU's compute backend; empty: a part of the program
  std::string compute_problem = {};  // why the compute backends don't work
  std::string compute_remedy = {};
  std::vector<ComputeDevice> devices = {};
  std::vector<std::string> driver_gpus = {};      // names of GPUs that drivers report
  std::vector<std::string> driver_problems = {};  // of drivers that fail or hang
  std::vector<std::string> closed_devices = {};   // device files that the user can't open
  HostMemory memory = {};
  std::uint64_t open_files = 0;  // limit of this process
  std::string user = {};         // whose rights were examined
  std::vector<Folder> folders = {};
  std::size_t models = 0;
  std::vector<Refused> refused = {};     // files and folders without a model
  std::optional<std::size_t> keys = {};  // unset: the file can't be read
  std::string keys_problem = {};
  ServiceState service = {};
};

}  // namespace corral::cli
