// Speech of a text, into a file or a pipe as it is made.
#include <filesystem>
#include <fstream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/sound_wire.h"
#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

struct SpeakOptions {
  std::vector<std::string> text;
  SpeechRequest speech = {.model = "tts-1", .text = {}};  // the best model on the server
  std::string file;
};

// By the file's name; wav can be read while it is written.
std::string format_for(const std::string& file) {
  const auto end = to_lower(fs::path(file).extension().native());
  if (end == ".ogg") return "opus";
  for (const std::string_view format : {"mp3", "opus", "aac", "flac", "pcm"})
    if (end == fmt::format(".{}", format)) return std::string(format);
  return "wav";
}

// From the command line, else from a pipe.
Result<std::string> text_to_speak(const SpeakOptions& options, CommandContext& context) {
  std::string text = fmt::format("{}", fmt::join(options.text, " "));
  if (text.empty() && !context.terminal.in_tty) {
    InputLine piped = context.input.read_all();
    if (piped.kind == InputLine::Kind::interrupted) return fail(errc::interrupted, "interrupted");
    text = std::move(piped.text);
  }
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) return fail(errc::usage, "no text: give it as an argument or on standard input");
  return text;
}

// The named file, from the first byte on, so that an error leaves an older one unchanged; or standard output.
class SoundTarget {
 public:
  SoundTarget(std::string file, std::ostream& out) : name_(std::move(file)), out_(out) {}

  bool write(std::string_view bytes) {
    if (!name_.empty() && !file_.is_open()) file_.open(name_, std::ios::binary | std::ios::trunc);
    std::ostream& to = name_.empty() ? out_ : file_;
    to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    to.flush();
    failed_ = !to;
    size_ += bytes.size();
    return !failed_;
  }
  Result<std::uint64_t> finish() {
    if (file_.is_open()) file_.close();
    if (failed_ || !file_) return fail(errc::usage, fmt::format("'{}' cannot be written", name_.empty() ? "-" : name_));
    return size_;
  }
  // What came before an error is no sound.
  void discard() {
    if (!file_.is_open()) return;
    file_.close();
    std::error_code ignored;
    if (fs::is_regular_file(name_, ignored)) fs::remove(name_, ignored);
  }

 private:
  const std::string name_;
  std::ostream& out_;
  std::ofstream file_;
  std::uint64_t size_ = 0;
  bool failed_ = false;
};

Result<int> speak(SpeakOptions options, CommandContext& context) {
  if (options.file.empty() && context.json) return fail(errc::usage, "--json needs -o FILE");
  if (options.file.empty() && context.terminal.out_tty)
    return fail(errc::usage, "sound is not for a terminal: name a file with -o FILE, or use a pipe");
  auto text = text_to_speak(options, context);
  if (!text) return std::unexpected(text.error());
  options.speech.text = std::move(*text);
  if (options.speech.format.empty()) options.speech.format = format_for(options.file);
  SoundTarget target(options.file, context.terminal.out);
  const auto reply = context.api.receive(ApiRequest::post("/api/v1/audio/speech", speech_body(options.speech)),
                                         [&](std::string_view bytes) { return target.write(bytes); });
  if (!reply || reply->status >= 400) {
    target.discard();
    return std::unexpected(reply ? refusal(context.api, *reply) : reply.error());
  }
  const auto size = target.finish();
  if (!size) return std::unexpected(size.error());
  if (context.json)
    return print_json(context,
                      text_object({{"status", "success"}, {"file", options.file}, {"format", options.speech.format}}));
  if (!options.file.empty())
    context.terminal.err << printable(
        fmt::format("{}: {} of {}\n", options.file, human_bytes(*size), options.speech.format));
  return kExitOk;
}

}  // namespace

Action declare_speak(CLI::App& app) {
  const auto options = std::make_shared<SpeakOptions>();
  app.add_option("TEXT", options->text, "The text; without it, text from a pipe")->type_name("");
  app.add_option("-o,--output", options->file,
                 "File for the sound; default: standard output, if it is a pipe or a file")
      ->type_name("FILE");
  app.add_option("--model", options->speech.model, "Model of the type tts; default: the best one on the server")
      ->type_name("MODEL");
  app.add_option("--voice", options->speech.voice, "Name of a voice (GET /v1/audio/voices); default: the model's first")
      ->type_name("NAME");
  app.add_option("--format", options->speech.format, "wav, mp3, pcm, opus, aac or flac [by FILE's name, else wav]")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"wav", "mp3", "pcm", "opus", "aac", "flac"}));
  app.add_option("--speed", options->speech.speed, "0.25 to 4; 1: the normal speed")->type_name("X");
  return [options](CommandContext& context) { return speak(*options, context); };
}

}  // namespace corral::cli
