#include "device/process_tree.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string>

#include "base/read_proc.h"
#include "device/process_memory.h"
#include "device/process_work.h"

namespace corral::device {
namespace {

struct Process {
  pid_t pid = 0, parent = 0, group = 0;
};

// "1234 (name of it) S parent group session ..."; the name may hold anything.
bool read_stat(const std::filesystem::path& folder, Process& process) {
  const auto text = read_proc(folder / "stat");
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  return static_cast<bool>(fields >> state >> process.parent >> process.group);
}

std::vector<Process> all_processes(const std::filesystem::path& root) {
  std::vector<Process> processes;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(root / "proc", ignored), end; entry != end; entry.increment(ignored)) {
    const auto name = entry->path().filename().native();
    Process process;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), process.pid);
    if (error != std::errc() || rest != name.data() + name.size()) continue;
    if (read_stat(entry->path(), process)) processes.push_back(process);
  }
  return processes;
}

}  // namespace

std::vector<pid_t> process_family(pid_t leader, const std::filesystem::path& root) {
  const auto processes = all_processes(root);
  const auto known = [&](pid_t pid) { return std::ranges::find(processes, pid, &Process::pid) != processes.end(); };
  std::vector<pid_t> family;
  if (leader <= 0 || !known(leader)) return family;
  std::set<pid_t> in_it{leader};
  family.push_back(leader);
  for (const auto& process : processes) {
    if (process.group == leader && in_it.insert(process.pid).second) family.push_back(process.pid);
  }
  for (std::size_t at = 0; at < family.size(); ++at) {
    for (const auto& process : processes) {
      if (process.parent == family[at] && in_it.insert(process.pid).second) family.push_back(process.pid);
    }
  }
  return family;
}

std::uint64_t family_work(pid_t leader, const std::filesystem::path& root) {
  std::uint64_t work = 0;
  for (const pid_t pid : process_family(leader, root)) work += process_work(pid, root);
  return work;
}

std::uint64_t family_bytes(pid_t leader, const std::filesystem::path& root) {
  std::uint64_t bytes = 0;
  for (const pid_t pid : process_family(leader, root)) {
    const auto share = proportional_bytes(pid, root);
    bytes += share != 0 ? share : process_memory(pid, root).resident;
  }
  return bytes;
}

}  // namespace corral::device
