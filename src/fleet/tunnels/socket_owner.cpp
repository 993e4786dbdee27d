#include "fleet/tunnels/socket_owner.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <ranges>

#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.h"

namespace corral::fleet {
namespace {

// Closed sockets show root as their owner.
constexpr std::uint8_t kEstablished = 1;

struct Question {
  nlmsghdr head{};
  inet_diag_req_v2 ask{};
};

std::optional<uid_t> ask_kernel(std::uint16_t its_port, std::uint16_t our_port) {
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket) return std::nullopt;
  Question question;
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  auto& ask = question.ask;
  ask.sdiag_family = AF_INET;
  ask.sdiag_protocol = IPPROTO_TCP;
  ask.idiag_states = ~0U;
  ask.id.idiag_sport = htons(its_port);
  ask.id.idiag_dport = htons(our_port);
  ask.id.idiag_src[0] = ask.id.idiag_dst[0] = htonl(INADDR_LOOPBACK);
  ask.id.idiag_cookie[0] = ask.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(socket.get(), &question, sizeof question, 0) != sizeof question) return std::nullopt;
  // The kernel has answered by now.
  alignas(nlmsghdr) std::array<char, 4096> answer;
  const auto got = ::recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  nlmsghdr head;
  inet_diag_msg found;
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof found))) return std::nullopt;
  std::memcpy(&head, answer.data(), sizeof head);
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
  if (found.idiag_state != kEstablished) return std::nullopt;
  return found.idiag_uid;
}

// In the kernel's format: the bytes of the address as a number of this machine.
std::string place(std::uint16_t port) { return fmt::format("{:08X}:{:04X}", htonl(INADDR_LOOPBACK), port); }

std::optional<uid_t> owner_in_row(std::string_view row, std::string_view its, std::string_view ours) {
  // number: local remote state queues timer retransmissions uid …
  constexpr std::size_t kLocal = 1, kRemote = 2, kState = 3, kUid = 7;
  std::array<std::string_view, kUid + 1> words;
  std::size_t count = 0;
  for (const auto part : std::views::split(row, ' ')) {
    const std::string_view word(part);
    if (word.empty()) continue;
    words[count++] = word;
    if (count == words.size()) break;
  }
  if (count < words.size() || words[kLocal] != its || words[kRemote] != ours || words[kState] != "01")
    return std::nullopt;
  uid_t user = 0;
  const auto text = words[kUid];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), user);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return user;
}

}  // namespace

std::optional<uid_t> find_owner(std::string_view table, std::uint16_t its_port, std::uint16_t our_port) {
  const auto its = place(its_port), ours = place(our_port);
  for (const auto line : std::views::split(table, '\n')) {
    if (const auto owner = owner_in_row(std::string_view(line), its, ours)) return owner;
  }
  return std::nullopt;
}

Result<uid_t> owner_on_loopback(std::uint16_t its_port, std::uint16_t our_port) {
  if (const auto owner = ask_kernel(its_port, our_port)) return *owner;
  std::ifstream file("/proc/net/tcp");
  const std::string table{std::istreambuf_iterator<char>(file), {}};
  if (const auto owner = find_owner(table, its_port, our_port)) return *owner;
  return std::unexpected(Error(std::make_error_code(std::errc::no_such_process),
                               fmt::format("no open connection from port {} to port {}", its_port, our_port)));
}

}  // namespace corral::fleet
