// The end of a child process.
#pragma once

#include <string>

namespace corral::proc {

struct ExitStatus {
  enum class Kind { exited, killed, unknown };

  Kind kind = Kind::unknown;
  int value = 0;  // exited: the code, 0–255; killed: the signal

  static ExitStatus exited(int code) { return {Kind::exited, code}; }
  static ExitStatus killed(int signal) { return {Kind::killed, signal}; }

  bool success() const { return kind == Kind::exited && value == 0; }
  bool by_signal(int signal) const { return kind == Kind::killed && value == signal; }
  // "exited with code 1", "killed by signal 9 (SIGKILL)", "ended with an unknown status"
  std::string describe() const;

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

}  // namespace corral::proc
