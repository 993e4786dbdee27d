// The text of a sound file. The file is read here and sent; text is printed as it arrives.
#include <memory>
#include <optional>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/server/sound_wire.h"

namespace corral::cli {
namespace {

constexpr const char* kTranscriptions = "/api/v1/audio/transcriptions";

struct TranscribeOptions {
  std::string file, language, format;
  std::string model = "whisper-1";  // the best one on the server
};

ApiRequest transcribe_request(const TranscribeOptions& options, bool stream) {
  ApiRequest request = ApiRequest::post(kTranscriptions, {});
  Form form{.fields = {{"model", options.model}, {"response_format", options.format}},
            .file_field = "file",
            .file = options.file};
  if (!options.language.empty()) form.fields.emplace_back("language", options.language);
  if (stream) form.fields.emplace_back("stream", "true");
  request.form = std::move(form);
  return request;
}

Result<int> print_whole(const TranscribeOptions& options, CommandContext& context) {
  const auto text = fetch(context.api, transcribe_request(options, false));
  if (!text) return std::unexpected(text.error());
  if (context.json || options.format == "json") return print_json(context, *text);
  context.terminal.out << (context.terminal.out_tty ? printable(*text) : *text);
  if (!text->empty() && !text->ends_with('\n')) context.terminal.out << '\n';
  return kExitOk;
}

Result<int> print_pieces(const TranscribeOptions& options, CommandContext& context) {
  std::ostream& out = context.terminal.out;
  std::optional<std::string> failure;
  bool done = false, at_line_start = true;
  const auto print = [&](const std::string& text) {
    if (text.empty()) return;
    out << (context.terminal.out_tty ? printable(text) : text) << std::flush;
    at_line_start = text.ends_with('\n');
  };
  const auto on_event = [&](std::string_view event, std::string_view data) {
    if (event == "transcript.text.delta") {
      print(transcript_delta(data));
    } else if (event == "transcript.text.done" || data == "[DONE]") {
      done = true;
    } else if (auto message = error_in(data)) {
      failure = std::move(message);
    }
  };
  const auto reply = context.api.stream(transcribe_request(options, true), on_event);
  if (reply && reply->status < 400 && !reply->body.empty()) {  // a server without streams of texts
    done = true;
    print(reply->body);
  }
  if (!at_line_start) out << '\n' << std::flush;
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  if (failure) return fail(errc::request_failed, *failure);
  if (!done) return fail(errc::bad_answer, fmt::format("{} closed the connection during the text", context.api.url()));
  return kExitOk;
}

Result<int> transcribe(TranscribeOptions options, CommandContext& context) {
  if (context.json && !options.format.empty() && options.format != "json")
    return fail(errc::usage, fmt::format("--json and --format {} exclude each other", options.format));
  if (options.format.empty()) options.format = context.json ? "json" : "text";
  return options.format == "text" ? print_pieces(options, context) : print_whole(options, context);
}

}  // namespace

Action declare_transcribe(CLI::App& app) {
  const auto options = std::make_shared<TranscribeOptions>();
  app.add_option("FILE", options->file, "Sound on this machine: wav, mp3, flac, ogg; others if the server has ffmpeg")
      ->required()
      ->type_name("");
  app.add_option("--model", options->model, "Model of the type transcription; default: the best one on the server")
      ->type_name("MODEL");
  app.add_option("--language", options->language, "Language of the sound, such as de; default: detected")
      ->type_name("CODE");
  app.add_option("--format", options->format, "text, json, srt or vtt [text]")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json", "srt", "vtt"}));
  return [options](CommandContext& context) { return transcribe(*options, context); };
}

}  // namespace corral::cli
