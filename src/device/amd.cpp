#include "device/amd.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include <fmt/format.h>

namespace corral::device {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVendor = "0x1002";

std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::uint64_t> number_in(const fs::path& path) {
  const auto line = line_of(path);
  std::uint64_t number = 0;
  const auto* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// The older driver "radeon" and kernels before 5.0 do not report memory.
bool reports_memory(const fs::path& card) {
  std::error_code ignored;
  return fs::exists(card / "mem_info_vram_total", ignored);
}

// N of "cardN". The connectors of a card ("card0-DP-1") lie beside it.
std::optional<unsigned> card_number(const std::string& name) {
  constexpr std::string_view kPrefix = "card";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  unsigned number = 0;
  const auto* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// PCI address in the kernel's uevent file: "PCI_SLOT_NAME=0000:03:00.0".
std::string pci_of(const fs::path& card) {
  constexpr std::string_view kKey = "PCI_SLOT_NAME=";
  std::ifstream file(card / "uevent");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  return {};
}

// The folders of AMD's cards, in the order of their numbers.
std::vector<fs::path> cards_in(const fs::path& drm) {
  std::vector<std::pair<unsigned, fs::path>> found;
  std::error_code ignored;
  for (fs::directory_iterator entry(drm, ignored), end; entry != end; entry.increment(ignored)) {
    const auto number = card_number(entry->path().filename().native());
    const auto device = entry->path() / "device";
    if (number && line_of(device / "vendor") == kVendor && reports_memory(device)) found.emplace_back(*number, device);
  }
  std::ranges::sort(found);
  std::vector<fs::path> cards;
  cards.reserve(found.size());
  for (auto& [number, path] : found) cards.push_back(std::move(path));
  return cards;
}

void add(const fs::path& card, std::string_view memory, MemoryPool pool, MemoryPools& pools) {
  const auto total = number_in(card / fmt::format("mem_info_{}_total", memory));
  const auto used = number_in(card / fmt::format("mem_info_{}_used", memory));
  if (!total || !used || *total == 0) return;
  pool.total = *total;
  pool.available = *total - std::min(*used, *total);
  pools.push_back(std::move(pool));
}

}  // namespace

Result<MemoryPools> AmdProbe::read() {
  const auto cards = cards_in(options_.root / "sys/class/drm");
  if (cards.empty()) return fail(errc::absent, "no AMD GPU whose driver reports its memory");
  MemoryPools pools;
  for (std::size_t index = 0; index < cards.size(); ++index) {
    const auto id = fmt::format("amdgpu{}", index);
    auto name = line_of(cards[index] / "product_name");
    if (name.empty()) name = fmt::format("AMD GPU {}", line_of(cards[index] / "device"));
    const auto pci = pci_of(cards[index]);
    add(cards[index], "vram", {.id = id, .name = name, .kind = PoolKind::gpu, .pci = pci}, pools);
    add(cards[index], "gtt", {.id = id + "-gtt", .name = name, .kind = PoolKind::shared, .pci = pci}, pools);
  }
  if (pools.empty()) return fail(errc::malformed, "can't read the memory of any AMD GPU");
  return pools;
}

}  // namespace corral::device
