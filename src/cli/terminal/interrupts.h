// Ctrl-C as an event to wait for, instead of a signal that ends the program.
#pragma once

#include <csignal>

namespace corral::cli {

class Interrupts {
 public:
  virtual ~Interrupts() = default;
  // Readable while an interrupt is pending.
  virtual int fd() const = 0;
  // Consumes the interrupt; false: there was none.
  virtual bool take() = 0;
};

// SIGINT of this process, from construction to destruction. Make it on the main thread before any other thread, because
// threads inherit the blocked signal.
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
