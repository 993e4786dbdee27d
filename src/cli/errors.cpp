#include "cli/errors.h"

#include "base/error_table.h"
#include "config/errors.h"

namespace corral::cli {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"usage", ErrorKind::invalid_request},   {"no_server", ErrorKind::unavailable},
      {"request_failed", ErrorKind::upstream}, {"bad_answer", ErrorKind::upstream},
      {"interrupted", ErrorKind::cancelled},   {"no_answer", ErrorKind::timeout},
  };
  static const TableCategory category("cli", kRows);
  return category;
}

std::span<const ExitCode> exit_codes() {
  static constexpr ExitCode kRows[] = {
      {kExitOk, "done"},
      {kExitFailed, "the server rejected the request or failed, or it could not start"},
      {kExitUsage, "a flag, an environment variable or the configuration file is invalid"},
      {kExitNoServer, "no server responds at the address"},
      {kExitInterrupted, "interrupted with Ctrl-C"},
  };
  return kRows;
}

int exit_code_of(const Error& error) {
  if (error.code == errc::interrupted) return kExitInterrupted;
  if (error.code == errc::no_server) return kExitNoServer;
  if (error.code == errc::usage || error.code.category() == config::error_category()) return kExitUsage;
  return kExitFailed;
}

}  // namespace corral::cli
