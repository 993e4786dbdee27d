#include "cli/terminal/interrupts.h"

#include <cerrno>
#include <system_error>

#include <sys/signalfd.h>
#include <unistd.h>

namespace corral::cli {

SystemInterrupts::SystemInterrupts() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGINT);
  pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  fd_ = ::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

SystemInterrupts::~SystemInterrupts() {
  take();  // a pending signal would end the program when the mask is restored
  ::close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool SystemInterrupts::take() {
  bool any = false;
  signalfd_siginfo info;
  while (::read(fd_, &info, sizeof info) == sizeof info) any = true;
  return any;
}

}  // namespace corral::cli
