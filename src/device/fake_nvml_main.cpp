// A stand-in for libnvidia-ml, loaded by nvml_test. CORRAL_FAKE_NVML sets its behavior:
//   init=N, count=N        the status of nvmlInit_v2, of nvmlDeviceGetCount_v2
//   gpus=N                 number of GPUs: default 2, at most 2
//   handle0=N, handle1=N   the status of the call for the first, second GPU
//   memory0=N, memory1=N   the status of the first, second GPU's memory
//   mig                    the first GPU is divided, and only its parts report memory
//   wait=FD                reading memory first reads a byte from FD
// Built a second time with one of the functions under another name, as a driver that lacks it.
#include <cstdlib>
#include <cstring>
#include <string>

#include <unistd.h>

#include "device/nvml_abi.h"

namespace {

using namespace corral::device;

constexpr unsigned long long kGiB = 1ull << 30;
// Handles are addresses: of the GPUs, then of the parts of the first one.
char g_devices[4];

std::string settings() {
  const char* text = std::getenv("CORRAL_FAKE_NVML");
  return text ? text : "";
}

int number(const std::string& word, int otherwise = kNvmlSuccess) {
  const auto text = settings();
  const auto at = text.find(word + "=");
  return at == std::string::npos ? otherwise : std::atoi(text.c_str() + at + word.size() + 1);
}

bool divided() { return settings().contains("mig"); }
long index_of(const void* device) { return static_cast<const char*>(device) - g_devices; }

}  // namespace

extern "C" {

int nvmlInit_v2() { return number("init"); }
int nvmlShutdown() { return kNvmlSuccess; }
// The words of the real library.
const char* nvmlErrorString(int status) {
  switch (status) {
    case kNvmlNotSupported:
      return "Not Supported";
    case kNvmlNoPermission:
      return "Insufficient Permissions";
    case kNvmlNotFound:
      return "Not Found";
    case 9:
      return "Driver Not Loaded";
    case 12:
      return "NVML Shared Library Not Found";
    case 15:
      return "GPU is lost";
    case 16:
      return "GPU requires restart";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(number("gpus", 2));
  return number("count");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  *device = &g_devices[index];
  return number("handle" + std::to_string(index));
}

int nvmlDeviceGetName(NvmlDevice device, char* name, unsigned size) {
  const std::string text = "Fake GPU " + std::to_string(index_of(device));
  std::strncpy(name, text.c_str(), size);
  return kNvmlSuccess;
}

int nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPci* pci) {
  if (index_of(device) > 1) return kNvmlNotSupported;  // parts have no address of their own
  const std::string text = "0000000" + std::to_string(index_of(device)) + ":C1:00.0";
  std::strncpy(pci->bus_id, text.c_str(), sizeof pci->bus_id);
  return kNvmlSuccess;
}

int nvmlDeviceGetUUID(NvmlDevice device, char* uuid, unsigned size) {
  const auto index = index_of(device);
  const std::string text = index > 1 ? "MIG-1fe-" + std::to_string(index - 2) : "GPU-0ab-" + std::to_string(index);
  std::strncpy(uuid, text.c_str(), size);
  return kNvmlSuccess;
}

#ifdef CORRAL_FAKE_NVML_OLD
#define nvmlDeviceGetMemoryInfo nvmlDeviceGetMemoryInfo_v0
#endif
int nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) {
  if (const int fd = number("wait", -1); fd >= 0) {
    char byte = 0;
    if (::read(fd, &byte, 1) < 0) return kNvmlNotFound;
  }
  const auto index = index_of(device);
  if (index == 0 && divided()) return kNvmlNoPermission;
  if (const int status = number("memory" + std::to_string(index)); status != kNvmlSuccess) return status;
  *memory = {80 * kGiB, 70 * kGiB, 9 * kGiB};  // reserved memory is neither free nor used
  return kNvmlSuccess;
}

int nvmlDeviceGetMaxMigDeviceCount(NvmlDevice device, unsigned* count) {
  *count = index_of(device) == 0 && divided() ? 7 : 0;
  return kNvmlSuccess;
}

int nvmlDeviceGetMigDeviceHandleByIndex(NvmlDevice, unsigned index, NvmlDevice* part) {
  if (index > 1) return kNvmlNotFound;
  *part = &g_devices[2 + index];
  return kNvmlSuccess;
}

}  // extern "C"
