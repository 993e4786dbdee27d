// Network namespaces of this process's own making, without names: they are there as long as somebody holds a descriptor
// or a process in them runs, so nothing of them is left behind, however a test ends. Errors are thrown as
// std::system_error or std::runtime_error. For one thread: a thread is in one namespace at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace corral::wire {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A new one. Its loopback is down.
Descriptor make_namespace();

Descriptor open_namespace(const std::string& path);

// This thread is in that namespace while it lives.
class Inside {
 public:
  explicit Inside(int space);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Descriptor home_;
};

// A device for IP packets without heads of their own, in the namespace that the thread is in. Non-blocking.
Descriptor make_tun(const std::string& name);

// Commands of `ip` in the namespace that the thread is in.
void run_ip(const std::vector<std::string>& commands);

}  // namespace corral::wire
