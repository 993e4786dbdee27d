// The service manager's end of a ServiceNotifier.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/unique_fd.h"

namespace corral {

class FakeServiceManager {
 public:
  // A path, or a name that begins with "@".
  explicit FakeServiceManager(std::string name) : name_(std::move(name)) {
    socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, name_.data(), name_.size());
    if (name_.front() == '@') at.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), size), 0);
  }
  ~FakeServiceManager() {
    std::error_code ignored;
    if (name_.front() != '@') std::filesystem::remove(name_, ignored);
  }
  FakeServiceManager(const FakeServiceManager&) = delete;
  FakeServiceManager& operator=(const FakeServiceManager&) = delete;

  const std::string& name() const { return name_; }
  // The next datagram; "": there is none.
  std::string received() const {
    std::array<char, 512> text{};
    const auto got = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
    return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : std::string();
  }

 private:
  const std::string name_;
  UniqueFd socket_;
};

}  // namespace corral
