#include "device/pool_match.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace corral::device {
namespace {

constexpr std::string_view kHost = "cpu", kRam = "ram";
constexpr std::string_view kPart = "MIG-";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

template <typename Number>
std::optional<Number> number(std::string_view text, int base = 10) {
  Number value{};
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> items(std::string_view list) {
  std::vector<std::string_view> found;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    found.push_back(item);
  }
  return found;
}

// "cuda" and 1 of "cuda1"; a name without a number is the first of its kind.
struct Numbered {
  std::string_view kind;
  std::size_t number = 0;
};
Numbered split(std::string_view name) {
  const auto digits = std::min(name.find_first_of("0123456789"), name.size());
  return {name.substr(0, digits), number<std::size_t>(name.substr(digits)).value_or(0)};
}

bool names(std::string_view wanted, const MemoryPool& pool) { return !wanted.empty() && pool.uuid.starts_with(wanted); }

// Of the parts of one GPU: the visible one, otherwise the one of that size.
const MemoryPool* choose(const std::vector<const MemoryPool*>& of, const DeviceMemory& device,
                         const VisibleDevices& visible) {
  if (of.size() <= 1) return of.empty() ? nullptr : of.front();
  for (const std::string_view item : items(visible.cuda)) {
    if (!item.starts_with(kPart)) continue;
    for (const MemoryPool* pool : of)
      if (names(item, *pool)) return pool;
  }
  const auto far = [&](const MemoryPool* pool) {
    return std::max(pool->total, device.have) - std::min(pool->total, device.have);
  };
  const MemoryPool* const nearest = *std::ranges::min_element(of, {}, far);
  return far(nearest) <= nearest->total / 10 ? nearest : nullptr;
}

// Numbers are the drivers' unless the environment lists devices.
const MemoryPool* by_number(std::string_view pools_are, std::size_t at, std::span<const MemoryPool> pools,
                            std::string_view visible) {
  const auto list = items(visible);
  if (!list.empty() && at >= list.size()) return nullptr;
  const std::string_view item = list.empty() ? std::string_view() : list[at];
  if (!list.empty() && !number<std::size_t>(item)) {
    const auto found = std::ranges::find_if(pools, [&](const MemoryPool& pool) { return names(item, pool); });
    return found == pools.end() ? nullptr : &*found;
  }
  const std::string id = fmt::format("{}{}", pools_are, list.empty() ? at : *number<std::size_t>(item));
  const auto found = std::ranges::find(pools, id, &MemoryPool::id);
  return found == pools.end() ? nullptr : &*found;
}

}  // namespace

VisibleDevices visible_devices() {
  VisibleDevices visible{.cuda = variable("CUDA_VISIBLE_DEVICES"), .hip = variable("HIP_VISIBLE_DEVICES")};
  if (visible.hip.empty()) visible.hip = variable("ROCR_VISIBLE_DEVICES");
  return visible;
}

std::string pci_address(std::string_view text) {
  const auto dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  std::vector<unsigned> numbers;
  for (std::string_view rest = text.substr(0, dot); !rest.empty();) {
    const auto colon = std::min(rest.find(':'), rest.size());
    const auto value = number<unsigned>(rest.substr(0, colon), 16);
    if (!value) return {};
    numbers.push_back(*value);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  const auto function = number<unsigned>(text.substr(dot + 1), 16);
  if (!function || numbers.size() < 2 || numbers.size() > 3) return {};
  if (numbers.size() == 2) numbers.insert(numbers.begin(), 0);
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", numbers[0], numbers[1], numbers[2], *function);
}

std::string pool_of(const DeviceMemory& device, std::span<const MemoryPool> pools, const VisibleDevices& visible) {
  if (device.device == kHost || device.integrated) return std::string(kRam);
  const auto [kind, at] = split(device.device);
  const MemoryPool* found = nullptr;
  if (const std::string pci = pci_address(device.pci); !pci.empty()) {
    std::vector<const MemoryPool*> candidates;
    for (const MemoryPool& pool : pools)
      if (pool.kind == PoolKind::gpu && pci_address(pool.pci) == pci) candidates.push_back(&pool);
    found = choose(candidates, device, visible);
    // For drivers without PCI addresses, only a number is known.
    const bool has_pci = std::ranges::any_of(pools, [](const MemoryPool& pool) { return !pool.pci.empty(); });
    if (found != nullptr || has_pci) return found == nullptr ? std::string() : found->id;
  }
  if (kind == "cuda") {
    found = by_number("gpu", at, pools, visible.cuda);
  } else if (kind == "rocm" || kind == "hip") {
    found = by_number("amdgpu", at, pools, visible.hip);
  } else if (std::ranges::count(pools, PoolKind::gpu, &MemoryPool::kind) == 1) {
    found = &*std::ranges::find(pools, PoolKind::gpu, &MemoryPool::kind);  // whatever its interface
  }
  return found == nullptr ? std::string() : found->id;
}

}  // namespace corral::device
