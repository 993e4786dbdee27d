// Ctrl-C as something to wait for instead of something that kills the program.
#pragma once

#include <csignal>

namespace corral::cli {

class Interrupts {
 public:
  virtual ~Interrupts() = default;
  // Readable while an interrupt waits to be taken.
  virtual int fd() const = 0;
  // Takes it; false when there was none.
  virtual bool take() = 0;
};

// SIGINT of this process, from construction to destruction. To be made on the main thread before any other thread is:
// they inherit the blocked signal.
class SystemInterrupts final : public Interrupts {
 public:
  SystemInterrupts();
  ~SystemInterrupts() override;
  SystemInterrupts(const SystemInterrupts&) = delete;
  SystemInterrupts& operator=(const SystemInterrupts&) = delete;

  int fd() const override { return fd_; }
  bool take() override;

 private:
  sigset_t before_{};
  int fd_ = -1;
};

}  // namespace corral::cli
