#include "app/service_state.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace corral::app {
namespace {

constexpr const char* kCommand =
    "timeout 10 systemctl show corral.service --property=LoadState,ActiveState,Result,StatusText,NRestarts 2>/dev/null";

struct ClosePipe {
  void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

std::string output_of(const char* command) {
  const std::unique_ptr<std::FILE, ClosePipe> pipe(::popen(command, "re"));
  std::string text;
  std::array<char, 512> part{};
  while (pipe && std::fgets(part.data(), static_cast<int>(part.size()), pipe.get()) != nullptr) text += part.data();
  return text;
}

}  // namespace

cli::ServiceState parse_service_state(std::string_view text) {
  cli::ServiceState state;
  state.has_manager = true;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = line.substr(0, equals), value = line.substr(equals + 1);
    if (name == "LoadState") state.is_installed = value == "loaded";
    if (name == "ActiveState") state.active = value;
    if (name == "Result") state.result = value;
    if (name == "StatusText") state.status = value;
    if (name == "NRestarts") std::from_chars(value.data(), value.data() + value.size(), state.restarts);
  }
  return state;
}

cli::ServiceState read_service_state() {
  std::error_code ignored;
  if (!std::filesystem::exists("/run/systemd/system", ignored)) return {};
  return parse_service_state(output_of(kCommand));
}

}  // namespace corral::app
