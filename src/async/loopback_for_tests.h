// Bytes in flight between the TCP sockets of this process. A write to a socket on loopback returns before the other end
// can read it: the kernel may deliver it later, in a thread of its own, and on a busy machine much later. So tests ask
// the kernel what each end has sent and received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <dirent.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace corral::async {

// Like struct tcp_info of linux/tcp.h, up to the last field that is used here. That header can't be included together
// with netinet/tcp.h, which has a shorter structure.
struct KernelTcpInfo {
  std::uint8_t state;
  std::uint8_t unused_1[7];
  std::uint32_t unused_2[2];
  std::uint32_t send_segment;
  std::uint32_t unused_3;
  std::uint32_t unacknowledged;  // of a listener: connections that are not accepted yet
  std::uint32_t unused_4[19];
  std::uint64_t unused_5[3];
  std::uint64_t bytes_received;
  std::uint32_t unused_6[2];
  std::uint32_t not_sent;
  std::uint32_t unused_7[3];
  std::uint64_t unused_8[4];
  std::uint32_t unused_9[2];
  std::uint64_t bytes_sent;
  std::uint64_t bytes_sent_again;
  std::uint32_t unused_10[3];
  std::uint32_t send_window;  // since Linux 5.4
};
static_assert(offsetof(KernelTcpInfo, send_segment) == 16 && offsetof(KernelTcpInfo, bytes_received) == 128 &&
              offsetof(KernelTcpInfo, not_sent) == 144 && offsetof(KernelTcpInfo, bytes_sent) == 200 &&
              offsetof(KernelTcpInfo, send_window) == 228);

// The open TCP sockets of this process, at one moment. All peers must be in this process, too.
class LoopbackSockets {
 public:
  LoopbackSockets() {
    DIR* folder = ::opendir("/proc/self/fd");
    if (folder == nullptr) return;
    while (const auto* entry = ::readdir(folder)) {
      char* end = nullptr;
      const auto fd = static_cast<int>(std::strtol(entry->d_name, &end, 10));
      if (end != entry->d_name && *end == '\0') add(fd);
    }
    ::closedir(folder);
  }

  // Pending deliveries of the kernel, in words; "": no socket will change before it is used.
  std::string in_flight() const {
    for (const auto& [ends, socket] : open_)
      if (const auto* what = what_comes(ends, socket)) return fmt::format("{} of socket {}", what, socket.fd);
    return connecting_;
  }

 private:
  // From the kernel's net/tcp_states.h.
  enum State : std::uint8_t {
    established = 1,
    syn_sent,
    syn_received,
    fin_wait_1,
    fin_wait_2,
    time_wait,
    closed,
    close_wait,
    last_ack,
    listening,
    closing
  };
  struct Socket {
    int fd = -1;
    KernelTcpInfo info{};
  };
  using Ends = std::pair<std::string, std::string>;  // its own address, and the peer's

  using AskName = int (*)(int, sockaddr*, socklen_t*);
  // Empty if there is none. An IPv4 address is the same text for sockets of both kinds.
  static std::string name(int fd, AskName ask) {
    sockaddr_storage at{};
    socklen_t size = sizeof at;
    if (ask(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) return {};
    in6_addr address{};
    std::uint16_t port = 0;
    if (at.ss_family == AF_INET) {
      const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
      address.s6_addr[10] = address.s6_addr[11] = 0xff;
      std::memcpy(&address.s6_addr[12], &v4.sin_addr, 4);
      port = v4.sin_port;
    } else {
      const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
      address = v6.sin6_addr;
      port = v6.sin6_port;
    }
    return {std::string(reinterpret_cast<const char*>(&address), sizeof address) + std::to_string(ntohs(port))};
  }
  static std::string port_of(const std::string& name) { return name.substr(sizeof(in6_addr)); }
  static bool is_loopback(const std::string& name) {
    in6_addr address{};
    std::memcpy(&address, name.data(), sizeof address);
    return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
  }

  void add(int fd) {
    int protocol = 0;
    socklen_t size = sizeof protocol;
    if (::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 || protocol != IPPROTO_TCP) return;
    constexpr int kTcpInfo = 11;  // TCP_INFO
    Socket socket{.fd = fd};
    size = sizeof socket.info;
    if (::getsockopt(fd, IPPROTO_TCP, kTcpInfo, &socket.info, &size) != 0) return;
    const auto own = name(fd, ::getsockname);
    switch (socket.info.state) {
      case closed:
        return;
      case listening:
        waiting_[port_of(own)] += socket.info.unacknowledged;
        return;
      case syn_sent:
        if (is_loopback(own)) connecting_ = fmt::format("the connection of socket {}", fd);
        return;
      default:
        open_.emplace(Ends{own, name(fd, ::getpeername)}, socket);
    }
  }

  static int ask(int fd, unsigned long what) {
    int count = 0;
    return ::ioctl(fd, what, &count) == 0 ? count : 0;
  }

  static bool is_writable(int fd) {
    pollfd look{.fd = fd, .events = POLLOUT, .revents = 0};
    return ::poll(&look, 1, 0) == 1;
  }

  const char* what_comes(const Ends& ends, const Socket& socket) const {
    const auto& info = socket.info;
    // Not acknowledged, or not sent yet.
    const auto kept = static_cast<std::uint32_t>(ask(socket.fd, SIOCOUTQ));
    const auto found = open_.find({ends.second, ends.first});
    if (found == open_.end()) return what_comes_alone(ends, socket, kept);
    const auto& peer = found->second;
    if (peer.info.bytes_received < info.bytes_sent - info.bytes_sent_again) return "bytes";
    // An acknowledgement, or free buffer space at the peer, will let more bytes go or this end write again.
    if (kept > 0 && (info.not_sent > 0 || !is_writable(socket.fd))) {
      const bool can_send = info.not_sent > 0 && info.send_window >= info.send_segment;
      if (kept > info.not_sent || can_send || ask(peer.fd, FIONREAD) == 0) return "bytes";
    }
    const bool has_ended = info.state == fin_wait_1 || info.state == fin_wait_2 || info.state == last_ack ||
                           info.state == closing || info.state == time_wait;
    const bool peer_waits =
        peer.info.state == established || peer.info.state == fin_wait_1 || peer.info.state == fin_wait_2;
    if (has_ended && peer_waits && info.not_sent == 0) return "the end";
    return nullptr;
  }
  // The peer is closed, so this end will get the event; or the connection isn't accepted yet, which is up to the test.
  const char* what_comes_alone(const Ends& ends, const Socket& socket, std::uint32_t kept) const {
    const auto listener = waiting_.find(port_of(ends.second));
    if (listener != waiting_.end() && listener->second > 0) return nullptr;
    if (kept > 0) return "bytes to a closed socket";
    const auto state = socket.info.state;
    if (state != established && state != fin_wait_1 && state != fin_wait_2) return nullptr;
    // The peer's last bytes may exceed the buffer: its end arrives after a read.
    return ask(socket.fd, FIONREAD) > 0 ? nullptr : "the end of a closed peer";
  }

  std::map<Ends, Socket> open_;
  std::map<std::string, std::uint32_t> waiting_;  // connections that are not accepted yet, of each port
  std::string connecting_;
};

}  // namespace corral::async
