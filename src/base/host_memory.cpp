#include "base/host_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace corral {
namespace {

// The number in a file; nothing for "max" and for missing files.
std::optional<std::uint64_t> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// The value of the line that begins with `key`.
std::uint64_t value_of(const std::filesystem::path& path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  for (std::uint64_t number = 0; file >> word;) {
    if (word == key && file >> number) return number;
    file.ignore(1 << 16, '\n');
  }
  return 0;
}

// The names of files of the two versions of control groups.
struct Layout {
  const char* mount;
  const char* limit;
  const char* used;
  const char* file_pages[2];  // keys of memory.stat
};
constexpr Layout kUnified{"sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file", "active_file"}};
constexpr Layout kLegacy{"sys/fs/cgroup/memory",
                         "memory.limit_in_bytes",
                         "memory.usage_in_bytes",
                         {"total_inactive_file", "total_active_file"}};

// `machine`: all of its memory.
void apply(const std::filesystem::path& group, const Layout& layout, std::uint64_t machine, HostMemory& memory) {
  const auto limit = number_in(group / layout.limit);
  if (!limit || *limit >= machine) return;  // "no limit" is a huge number in the legacy layout
  std::uint64_t used = number_in(group / layout.used).value_or(0);
  for (const char* key : layout.file_pages) used -= std::min(used, value_of(group / "memory.stat", key));
  // Other groups may use up a wider limit above a narrow one.
  memory.total = std::min(memory.total, *limit);
  memory.available = std::min(memory.available, *limit - std::min(used, *limit));
}

// Any level above ours may have a limit. In a container our own group is often the mount itself, whatever its name:
// then there is no level below it.
void apply_all(const std::filesystem::path& root, std::string_view name, const Layout& layout, HostMemory& memory) {
  const std::uint64_t machine = memory.total;
  const std::filesystem::path mount = root / layout.mount;
  while (name.starts_with('/')) name.remove_prefix(1);
  for (std::filesystem::path group = name; !group.empty(); group = group.parent_path()) {
    apply(mount / group, layout, machine, memory);
  }
  apply(mount, layout, machine, memory);
}

}  // namespace

HostMemory read_host_memory(const std::filesystem::path& root) {
  constexpr std::uint64_t kKiB = 1024;
  const auto meminfo = root / "proc/meminfo";
  HostMemory memory{value_of(meminfo, "MemTotal:") * kKiB, value_of(meminfo, "MemAvailable:") * kKiB};
  std::ifstream groups(root / "proc/self/cgroup");  // lines of "4:memory:/name", or "0::/name" in the unified layout
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const auto name = std::string_view(line).substr(second + 1);
    if (controllers.empty()) apply_all(root, name, kUnified, memory);
    if (controllers == "memory") apply_all(root, name, kLegacy, memory);
  }
  return memory;
}

}  // namespace corral
