#include "app/start_problems.h"

#include <system_error>

#include <fmt/format.h>

#include "base/human_bytes.h"
#include "base/shell_word.h"
#include "http/errors.h"

namespace corral::app {
namespace {

constexpr std::uint64_t kLittleSpace = 64ull << 20;
constexpr int kFirstFreePort = 1024;

}  // namespace

std::string explain_listen(const Error& error, int port, const std::filesystem::path& file) {
  if (error.code == http::errc::address_in_use) {
    return fmt::format("{}: end it (ss -ltnp 'sport = :{}' shows it), or set another port with --port or port in {}",
                       error.message, port, file.native());
  }
  if (port > 0 && port < kFirstFreePort)
    return fmt::format("{}: ports below {} need root or CAP_NET_BIND_SERVICE; set a higher port in {}", error.message,
                       kFirstFreePort, file.native());
  return fmt::format("{}: set host and port in {} to an address of this machine", error.message, file.native());
}

std::string explain_state_dir(const Error& error, const std::filesystem::path& folder, const std::string& user) {
  const auto word = shell_word(folder.native());
  if (error.code == std::errc::no_space_on_device)
    return fmt::format("state_dir: {}: free some space (df -h {}), or set state_dir to a folder on another disk",
                       error.message, word);
  if (error.code == std::errc::read_only_file_system)
    return fmt::format("state_dir: {}: set state_dir to a folder that user '{}' can write", error.message, user);
  // Of a system call: where the folder is unsafe, the message itself has the remedy.
  if (error.code.category() == std::system_category() &&
      (error.code == std::errc::permission_denied || error.code == std::errc::operation_not_permitted))
    return fmt::format("state_dir: {}: run sudo install -d -o {} -m 750 {}, or set state_dir to a folder of user '{}'",
                       error.message, shell_word(user), word, user);
  return "state_dir: " + error.message;
}

std::optional<std::string> explain_free_space(std::uint64_t free, const std::filesystem::path& folder) {
  if (free >= kLittleSpace) return std::nullopt;
  return fmt::format(
      "the disk of state_dir '{}' is full ({} free), so settings, keys and logs may be lost: free some space (df -h "
      "{}), or set state_dir to a folder on another disk",
      folder.native(), human_bytes(free), shell_word(folder.native()));
}

}  // namespace corral::app
