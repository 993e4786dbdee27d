#include "device/process_memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace corral::device {
namespace {

std::filesystem::path folder_of(pid_t pid, const std::filesystem::path& root) {
  return root / "proc" / std::to_string(pid);
}

// Children are listed by the thread that started them.
void add_children(const std::filesystem::path& process, std::vector<pid_t>& pids) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator thread(process / "task", ignored), end; thread != end;
       thread.increment(ignored)) {
    std::ifstream file(thread->path() / "children");
    for (pid_t child = 0; file >> child;) pids.push_back(child);
  }
}

}  // namespace

ProcessMemory process_memory(pid_t pid, const std::filesystem::path& root) {
  std::ifstream file(folder_of(pid, root) / "statm");
  std::uint64_t size = 0, resident = 0, shared = 0;
  if (!(file >> size >> resident >> shared)) return {};
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {resident * page, (resident - std::min(shared, resident)) * page};
}

ProcessMemory tree_memory(pid_t pid, const std::filesystem::path& root) {
  ProcessMemory sum;
  std::vector<pid_t> pids{pid};
  for (std::size_t at = 0; at < pids.size(); ++at) {
    sum += process_memory(pids[at], root);
    add_children(folder_of(pids[at], root), pids);
  }
  return sum;
}

pid_t first_child(pid_t pid, const std::filesystem::path& root) {
  std::ifstream file(folder_of(pid, root) / "task" / std::to_string(pid) / "children");
  pid_t child = 0;
  return file >> child ? child : 0;
}

std::uint64_t proportional_bytes(pid_t pid, const std::filesystem::path& root) {
  constexpr std::uint64_t kKiB = 1024;
  std::ifstream file(folder_of(pid, root) / "smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pss:")) return std::strtoull(line.c_str() + 4, nullptr, 10) * kKiB;
  }
  return 0;
}

}  // namespace corral::device
