#include "backends/external/port.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "device/process_tree.h"

namespace corral::backends {
namespace {

namespace fs = std::filesystem;

struct Listener {
  std::uint16_t port = 0;
  std::string inode;
};

// "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0  12345 ..."
void add_listeners(const fs::path& file, std::vector<Listener>& listeners) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);  // the names of the columns
  while (std::getline(stream, line)) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retries, uid, timeout, inode;
    if (!(fields >> number >> local >> remote >> state >> queues >> timer >> retries >> uid >> timeout >> inode))
      continue;
    if (state != "0A") continue;
    const auto colon = local.rfind(':');
    if (colon == std::string::npos) continue;
    unsigned port = 0;
    std::from_chars(local.data() + colon + 1, local.data() + local.size(), port, 16);
    listeners.push_back({static_cast<std::uint16_t>(port), inode});
  }
}

std::vector<Listener> listeners_of(const fs::path& root) {
  std::vector<Listener> listeners;
  add_listeners(root / "proc/net/tcp", listeners);
  add_listeners(root / "proc/net/tcp6", listeners);
  return listeners;
}

// The sockets that a process has open.
std::set<std::string> inodes_of(pid_t pid, const fs::path& root) {
  std::set<std::string> inodes;
  std::error_code ignored;
  constexpr std::string_view kSocket = "socket:[";
  for (fs::directory_iterator entry(root / "proc" / std::to_string(pid) / "fd", ignored), end; entry != end;
       entry.increment(ignored)) {
    std::error_code gone;
    const auto target = fs::read_symlink(entry->path(), gone).native();
    if (target.starts_with(kSocket)) inodes.insert(target.substr(kSocket.size(), target.size() - kSocket.size() - 1));
  }
  return inodes;
}

std::set<std::string> inodes_of_all(const std::vector<pid_t>& pids, const fs::path& root) {
  std::set<std::string> inodes;
  for (const pid_t pid : pids) inodes.merge(inodes_of(pid, root));
  return inodes;
}

bool visible_process_has(const std::string& inode, const fs::path& root) {
  std::error_code ignored;
  for (fs::directory_iterator entry(root / "proc", ignored), end; entry != end; entry.increment(ignored)) {
    const auto name = entry->path().filename().native();
    pid_t pid = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || rest != name.data() + name.size()) continue;
    if (inodes_of(pid, root).contains(inode)) return true;
  }
  return false;
}

// The first and the last of the ports that the system chooses from for connections, and for listeners without a number.
std::pair<int, int> ports_given_by_the_system() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  std::pair<int, int> range;
  return file >> range.first >> range.second ? range : std::pair(32'768, 60'999);
}

// The port of 127.0.0.1 if it is free; 0 asks for any. 0: none.
std::uint16_t bound_port(std::uint16_t port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);  // the socket interface's own way
  if (!socket || ::bind(socket.get(), any, size) != 0 || ::getsockname(socket.get(), any, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

}  // namespace

std::uint16_t free_port() {
  constexpr int kLowest = 20'000, kHighest = 65'535, kTries = 64;
  std::random_device random;
  std::uniform_int_distribution<int> any(kLowest, kHighest);
  const auto given = ports_given_by_the_system();
  for (int tries = 0; tries < kTries; ++tries) {
    const int port = any(random);
    if (port >= given.first && port <= given.second) continue;
    if (const auto bound = bound_port(static_cast<std::uint16_t>(port)); bound != 0) return bound;
  }
  return bound_port(0);
}

PortOwner owner_of_port(std::uint16_t port, pid_t leader, const fs::path& root) {
  const auto listeners = listeners_of(root);
  const auto ours = inodes_of_all(device::process_family(leader, root), root);
  auto owner = PortOwner::none;
  for (const auto& listener : listeners) {
    if (listener.port != port) continue;
    if (ours.contains(listener.inode)) return PortOwner::ours;
    owner = visible_process_has(listener.inode, root) ? PortOwner::another : PortOwner::hidden;
  }
  return owner;
}

std::vector<std::uint16_t> ports_of(pid_t leader, const fs::path& root) {
  const auto ours = inodes_of_all(device::process_family(leader, root), root);
  std::vector<std::uint16_t> ports;
  for (const auto& listener : listeners_of(root)) {
    if (ours.contains(listener.inode)) ports.push_back(listener.port);
  }
  std::ranges::sort(ports);
  ports.erase(std::ranges::unique(ports).begin(), ports.end());
  return ports;
}

}  // namespace corral::backends
