// Whose a connection over loopback is, by the kernel and by its table.
#include "fleet/tunnels/socket_owner.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace corral::fleet {
namespace {

constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1060 1 0 100 0 0 10 0\n"
    "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 1061 1 0 20 4 30 10 "
    "-1\n"
    "   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 1062 1 0 20 4 30 10 "
    "-1\n"
    "   3: 0200007F:C351 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1002        0 1063 1 0 20 4 30 10 "
    "-1\n"
    "   4: 0100007F:C352 0100007F:1F90 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0\n"
    "   5: 0100007F:C353 0100007F:1F90 01 00000000:00000000\n";

TEST(SocketOwner, IsInTheTableByThePairOfPorts) {
  EXPECT_EQ(find_owner(kTable, 0xC350, 0x1F90), 1001u);
  EXPECT_EQ(find_owner(kTable, 0x1F90, 0xC350), 1000u);
  EXPECT_EQ(find_owner(kTable, 0xC350, 0x1F91), std::nullopt);
  EXPECT_EQ(find_owner(kTable, 0xC351, 0x1F90), std::nullopt) << "another address";
  EXPECT_EQ(find_owner(kTable, 0xC352, 0x1F90), std::nullopt) << "closed: shows as root's";
  EXPECT_EQ(find_owner(kTable, 0xC353, 0x1F90), std::nullopt) << "cut off";
  EXPECT_EQ(find_owner("", 1, 2), std::nullopt);
}

class SocketOwnerTest : public testing::Test {
 protected:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(port);
    return place;
  }
  static std::uint16_t port_of(int socket) {
    sockaddr_in place{};
    socklen_t size = sizeof place;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&place), &size);
    return ntohs(place.sin_port);
  }
  static UniqueFd listen() {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto place = loopback(0);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(::listen(socket.get(), 4), 0);
    return socket;
  }
  static UniqueFd connect(std::uint16_t port) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto place = loopback(port);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    return socket;
  }
};

TEST_F(SocketOwnerTest, IsThisUserForAConnectionOfThisProcess) {
  const auto listener = listen();
  const auto port = port_of(listener.get());
  auto client = connect(port);
  const auto its_port = port_of(client.get());
  const UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
  EXPECT_EQ(owner_on_loopback(its_port, port), ::geteuid());
  EXPECT_EQ(owner_on_loopback(port, its_port), ::geteuid());
  EXPECT_FALSE(owner_on_loopback(its_port, port + 1));
  // What has been closed would show as root's.
  client.reset();
  EXPECT_FALSE(owner_on_loopback(its_port, port));
}

TEST_F(SocketOwnerTest, IsTheOtherUserForAConnectionOfAnother) {
  constexpr uid_t kOtherUser = 65534;
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be somebody else";
  const auto listener = listen();
  const auto port = port_of(listener.get());
  int stop[2];
  ASSERT_EQ(::pipe(stop), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(stop[1]);
    if (::setuid(kOtherUser) != 0) ::_exit(1);
    const auto socket = connect(port);
    char byte = 0;
    ::_exit(::read(stop[0], &byte, 1) == 0 ? 0 : 1);
  }
  ::close(stop[0]);
  sockaddr_in from{};
  socklen_t size = sizeof from;
  const UniqueFd accepted(::accept(listener.get(), reinterpret_cast<sockaddr*>(&from), &size));
  EXPECT_EQ(owner_on_loopback(ntohs(from.sin_port), port), kOtherUser);
  ::close(stop[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace corral::fleet
