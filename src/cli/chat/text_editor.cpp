#include "cli/chat/text_editor.h"

#include <csignal>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/state_file.h"
#include "base/text.h"
#include "cli/errors.h"

extern char** environ;

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

// A folder of its own, which goes with the file.
class DraftFolder {
 public:
  DraftFolder() {
    std::error_code failed;
    const fs::path parent = fs::temp_directory_path(failed);
    path_ = ((failed ? fs::path("/tmp") : parent) / "corral-XXXXXX").native();
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~DraftFolder() {
    std::error_code ignored;
    if (made_) fs::remove_all(path_, ignored);
  }
  DraftFolder(const DraftFolder&) = delete;
  DraftFolder& operator=(const DraftFolder&) = delete;

  bool made() const { return made_; }
  fs::path file() const { return fs::path(path_) / "message.md"; }

 private:
  std::string path_;
  bool made_ = false;
};

// The command may have arguments ("code --wait"), so a shell reads it.
int run_editor(const std::string& command, const fs::path& file) {
  const std::string script = command + " \"$1\"";
  std::vector<std::string> words = {"sh", "-c", script, "sh", file.native()};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);  // SIGINT is blocked here
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, "/bin/sh", nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  int status = 0;
  if (failed != 0) return failed;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<std::string> edit_text(const std::string& text, const config::Environment& environment) {
  std::string command = environment("VISUAL").value_or("");
  if (command.empty()) command = environment("EDITOR").value_or("");
  if (command.empty()) command = "vi";
  const DraftFolder folder;
  if (!folder.made()) return fail(errc::request_failed, "no temporary file can be created");
  if (const auto written = write_state_file(folder.file(), text); !written) return std::unexpected(written.error());
  if (run_editor(command, folder.file()) != 0) {
    return fail(errc::request_failed, fmt::format("the editor '{}' failed; $VISUAL or $EDITOR names another", command));
  }
  const auto saved = read_state_file(folder.file());
  if (!saved) return std::unexpected(saved.error());
  return std::string(trimmed_back(saved->value_or(""), "\n"));
}

}  // namespace corral::cli
