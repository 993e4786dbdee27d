// Errors of commands, and their exit codes for scripts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::cli {

enum class errc {
  usage = 1,       // the command line, a variable or the configuration file is wrong
  no_server,       // no listener at the address
  request_failed,  // the server returned an error
  bad_answer,      // the answer is invalid, or ended too early
  interrupted,     // Ctrl-C
  no_answer,       // within the limit of the request
};

// One row for each exit code of the program; docs/cli.md has the same table.
struct ExitCode {
  int code;
  std::string_view meaning;
};
std::span<const ExitCode> exit_codes();

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNoServer = 3;
inline constexpr int kExitInterrupted = 130;

int exit_code_of(const Error& error);

// A fact about request_failed: the code in the server's own error.
struct ServerCode {
  std::string code;
};

}  // namespace corral::cli

CORRAL_DECLARE_ERRC(corral::cli);
