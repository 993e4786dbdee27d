#include "app/inspect_process.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/llama/reading_check.h"
#include "fleet/copies/file_inspector.h"
#include "models/gguf/inspection.h"
#include "proc/exec_mode.h"
#include "proc/sandbox.h"

namespace corral::app {
namespace {

// Far more than any header and vocabulary needs, with all data made of them.
constexpr std::uint64_t kMemory = 2ull << 30;
constexpr unsigned kProcessorSeconds = 60;

void send_word(std::string_view word, std::string_view text) {
  auto line = fmt::format("{}{}{}", word, text.empty() ? "" : " ", text);
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  line += '\n';
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(fleet::kCantInspect);
}

// Exits without destructors, which could call something that the sandbox forbids.
[[noreturn]] void refuse(std::string_view why) {
  send_word(fleet::kRefusedWord, why);
  std::_Exit(fleet::kFilesRefused);
}

// The file that libllama is reading: its abort message doesn't contain the name.
const char* being_read = "the files";

// "FILE:LINE: assertion"; removes the folders, which are private.
void gave_up(const char* reason) {
  std::string_view text(reason);
  const auto place = text.substr(0, text.find(':'));
  if (const auto folders = place.rfind('/'); folders != std::string_view::npos) text.remove_prefix(folders + 1);
  refuse(fmt::format("libllama aborted: {}: {}", being_read, text));
}

// Prints and exits itself: the default action of the signal has no effect on the first process of a PID namespace.
void out_of_time(int) {
  constexpr std::string_view kLine = "refused reading the files takes more processor time than any model needs\n";
  static_assert(kLine.starts_with(fleet::kRefusedWord));
  const bool written = ::write(STDOUT_FILENO, kLine.data(), kLine.size()) > 0;
  std::_Exit(written ? fleet::kFilesRefused : fleet::kCantInspect);
}

struct Opened {
  std::string name;
  std::FILE* stream = nullptr;  // for libllama
};

void inspect(std::vector<models::SuspectFile>& files, const std::vector<Opened>& streams) {
  const auto parts = models::inspect_files(files);
  if (!parts) refuse(parts.error().message);
  for (const auto& file : streams) {
    const bool first = &file == streams.data();
    being_read = file.name.c_str();
    const auto read = first ? engine::check_reading_of_model(file.stream, file.name, *parts)
                            : engine::check_reading_of_header(file.stream, file.name);
    if (!read) refuse(read.error().message);
  }
}

}  // namespace

int inspect_process(int argc, char** argv) {
  if (!proc::bind_to_parent_from_environment()) return fleet::kCantInspect;
  std::vector<models::SuspectFile> files;
  std::vector<Opened> streams;
  for (int i = 2; i < argc; ++i) {
    auto name = std::filesystem::path(argv[i]).filename().native();
    auto bytes = models::open_file(argv[i]);
    if (!bytes) {
      send_word(fleet::kTroubleWord, bytes.error().message);
      return fleet::kCantInspect;
    }
    files.push_back({name, std::move(*bytes)});
    streams.push_back({std::move(name), std::fopen(argv[i], "rbe")});
  }
  engine::prepare_reading(gave_up);
  std::signal(SIGXCPU, out_of_time);
  const auto descriptors = static_cast<unsigned>(2 * files.size() + 16);
  const auto locked =
      proc::enter_sandbox({.memory = kMemory, .cpu_seconds = kProcessorSeconds, .descriptors = descriptors});
  if (!locked) {
    send_word(fleet::kTroubleWord, locked.error().message);
    return fleet::kCantInspect;
  }
  for (const auto& missing : locked->missing)
    send_word(fleet::kMissingWord, fmt::format("{}: {}", proc::name_of(missing.fence), missing.why));
  send_word(fleet::kLockedWord, "");
  try {
    if (!files.empty()) inspect(files, streams);
  } catch (const std::bad_alloc&) {
    refuse("the headers of the files take more memory than any model needs");
  } catch (const std::exception& error) {
    refuse(error.what());
  }
  std::_Exit(EXIT_SUCCESS);
}

}  // namespace corral::app
