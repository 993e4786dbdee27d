#include "device/nvml.h"

#include <array>
#include <optional>

#include <dlfcn.h>
#include <fmt/format.h>

#include "device/nvml_abi.h"

namespace corral::device {
namespace {

constexpr unsigned kNameBytes = 96;
constexpr unsigned kUuidBytes = 96;

template <typename F>
bool find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
  return function != nullptr;
}

}  // namespace

struct NvmlProbe::Library {
  ~Library() {
    if (running) shutdown();
    if (handle) ::dlclose(handle);
  }

  std::string text_of(int status) const {
    const char* text = error_text(status);
    return fmt::format("{} ({})", text ? text : "unknown error", status);
  }

  std::string name_of(NvmlDevice device) const {
    std::array<char, kNameBytes> name{};
    return name_text(device, name.data(), name.size() - 1) == kNvmlSuccess ? name.data() : "NVIDIA GPU";
  }

  std::optional<MemoryPool> pool(NvmlDevice device, std::string id, int& status) const {
    NvmlMemory memory{};
    status = memory_info(device, &memory);
    if (status != kNvmlSuccess || memory.total == 0) return std::nullopt;
    return MemoryPool{std::move(id), name_of(device), PoolKind::gpu,  memory.total,
                      memory.free,   pci_of(device),  uuid_of(device)};
  }

  std::string pci_of(NvmlDevice device) const {
    NvmlPci pci{};
    return pci_info && pci_info(device, &pci) == kNvmlSuccess ? pci.bus_id : "";
  }
  std::string uuid_of(NvmlDevice device) const {
    std::array<char, kUuidBytes> uuid{};
    return uuid_text && uuid_text(device, uuid.data(), uuid.size() - 1) == kNvmlSuccess ? uuid.data() : "";
  }

  // Adds the parts of a divided GPU. Inside a container with one part, the whole GPU can't be queried.
  void add_parts(NvmlDevice device, const std::string& id, MemoryPools& pools) const {
    unsigned parts = 0;
    if (!part_count || !part_at || part_count(device, &parts) != kNvmlSuccess) return;
    for (unsigned index = 0; index < parts; ++index) {
      NvmlDevice part = nullptr;
      int status = kNvmlSuccess;
      if (part_at(device, index, &part) != kNvmlSuccess) continue;
      auto found = pool(part, fmt::format("{}-mig{}", id, index), status);
      if (!found) continue;
      found->pci = pci_of(device);
      pools.push_back(std::move(*found));
    }
  }

  void* handle = nullptr;
  bool running = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device_at)(unsigned, NvmlDevice*) = nullptr;
  int (*name_text)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory_info)(NvmlDevice, NvmlMemory*) = nullptr;
  // Missing in old drivers.
  int (*pci_info)(NvmlDevice, NvmlPci*) = nullptr;
  int (*uuid_text)(NvmlDevice, char*, unsigned) = nullptr;
  int (*part_count)(NvmlDevice, unsigned*) = nullptr;
  int (*part_at)(NvmlDevice, unsigned, NvmlDevice*) = nullptr;
};

Result<> NvmlProbe::open() {
  auto library = std::make_unique<Library>();
  library->handle = ::dlopen(options_.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle) return fail(errc::absent, fmt::format("no {}", options_.library));
  auto* const handle = library->handle;
  const bool complete = find(handle, "nvmlInit_v2", library->init) && find(handle, "nvmlShutdown", library->shutdown) &&
                        find(handle, "nvmlErrorString", library->error_text) &&
                        find(handle, "nvmlDeviceGetCount_v2", library->count) &&
                        find(handle, "nvmlDeviceGetHandleByIndex_v2", library->device_at) &&
                        find(handle, "nvmlDeviceGetName", library->name_text) &&
                        find(handle, "nvmlDeviceGetMemoryInfo", library->memory_info);
  if (!complete) return fail(errc::failed, fmt::format("{} lacks a function that is needed", options_.library));
  find(handle, "nvmlDeviceGetPciInfo_v3", library->pci_info);
  find(handle, "nvmlDeviceGetUUID", library->uuid_text);
  find(handle, "nvmlDeviceGetMaxMigDeviceCount", library->part_count);
  find(handle, "nvmlDeviceGetMigDeviceHandleByIndex", library->part_at);
  const int status = library->init();
  if (status != kNvmlSuccess) return fail(errc::failed, "NVML doesn't start: " + library->text_of(status));
  library->running = true;
  library_ = std::move(library);
  return {};
}

NvmlProbe::NvmlProbe(NvmlOptions options) : options_(std::move(options)) {}
NvmlProbe::~NvmlProbe() = default;

Result<MemoryPools> NvmlProbe::read() {
  if (!library_) {
    if (auto opened = open(); !opened) return std::unexpected(std::move(opened.error()));
  }
  const auto give_up = [&](const char* what, int status) {
    auto text = fmt::format("NVML {}: {}", what, library_->text_of(status));
    library_.reset();
    return fail(errc::failed, std::move(text));
  };
  unsigned count = 0;
  if (const int status = library_->count(&count); status != kNvmlSuccess)
    return give_up("can't count the GPUs", status);
  if (count == 0) return fail(errc::absent, "no NVIDIA GPU");
  MemoryPools pools;
  int trouble = kNvmlSuccess;
  for (unsigned index = 0; index < count; ++index) {
    const auto id = fmt::format("gpu{}", index);
    const auto before = pools.size();
    NvmlDevice device = nullptr;
    int status = library_->device_at(index, &device);
    if (status == kNvmlSuccess) {
      library_->add_parts(device, id, pools);
      if (pools.size() > before) continue;
      if (auto found = library_->pool(device, id, status)) pools.push_back(std::move(*found));
    }
    if (status != kNvmlSuccess && status != kNvmlNotSupported) trouble = status;
  }
  // One lost GPU must not hide the others.
  if (pools.empty() && trouble != kNvmlSuccess) return give_up("can't read the memory of a GPU", trouble);
  return pools;
}

}  // namespace corral::device
