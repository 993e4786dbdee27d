#include "base/memory_estimate.h"

#include <algorithm>

#include <fmt/format.h>

namespace corral {
namespace {

std::string readable(std::uint64_t bytes) {
  constexpr double kMiB = 1 << 20, kGiB = 1 << 30;
  const auto value = static_cast<double>(bytes);
  return value < kGiB ? fmt::format("{:.0f} MiB", value / kMiB) : fmt::format("{:.1f} GiB", value / kGiB);
}

// Estimates also come from other processes and from files, so their numbers may contradict each other.
std::uint64_t host_buffers(const MemoryEstimate& estimate) {
  const std::uint64_t host = estimate.devices.empty() ? 0 : estimate.devices.front().total();
  return host - std::min(host, estimate.in_place);
}

}  // namespace

std::uint64_t MemoryEstimate::total() const {
  std::uint64_t sum = process;
  for (const auto& device : devices) sum += device.total();
  return sum;
}

std::uint64_t MemoryEstimate::resident() const { return host_buffers(*this) + mapped + process; }
std::uint64_t MemoryEstimate::unreclaimable() const { return host_buffers(*this) + process; }

std::vector<MemoryNeed> needs_of(const MemoryEstimate& estimate, std::optional<std::uint64_t> host_have) {
  std::vector<MemoryNeed> needs;
  for (std::size_t i = 0; i < estimate.devices.size(); ++i) {
    const DeviceMemory& device = estimate.devices[i];
    if (i == 0 && host_have) needs.push_back({device.device, estimate.unreclaimable(), *host_have});
    if (i > 0 && device.have != 0) needs.push_back({device.device, device.total(), device.have});
  }
  return needs;
}

std::vector<MemoryNeed> never_fits(const MemoryEstimate& estimate, std::uint64_t host_total) {
  auto needs = needs_of(estimate, host_total != 0 ? std::optional(host_total) : std::nullopt);
  std::erase_if(needs, [](const MemoryNeed& need) { return need.need <= need.have; });
  return needs;
}

std::string in_words(const std::vector<MemoryNeed>& needs, MemoryScope have) {
  std::string text;
  for (const auto& need : needs) {
    fmt::format_to(std::back_inserter(text), "{}{} on {}, which has {}{}", text.empty() ? "needs " : "; ",
                   readable(need.need), need.device, readable(need.have), have == MemoryScope::free ? " free" : "");
  }
  return text;
}

}  // namespace corral
