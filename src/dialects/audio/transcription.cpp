#include "dialects/audio/transcription.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "dialects/audio/sound_kind.h"
#include "protocol/errors.h"

namespace corral::dialects::audio {
namespace {

using protocol::errc;

constexpr std::array<std::string_view, 5> kTranscriptFormats = {"json", "text", "verbose_json", "srt", "vtt"};
constexpr std::size_t kLongestPrompt = 16 * 1024;

// Whisper's languages, by ISO 639 (haw and yue have no code of two letters). whisper.cpp's server exits at an unknown
// one.
constexpr std::string_view kLanguages =
    " en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi "
    "ml "
    "cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am "
    "yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su yue ";

// "pt-BR" is Portuguese.
std::optional<std::string> language_of(std::string_view value) {
  const auto code = to_lower(value.substr(0, value.find_first_of("-_")));
  const bool plain = !code.empty() && std::ranges::all_of(code, [](char c) { return c >= 'a' && c <= 'z'; });
  if (!plain || kLanguages.find(" " + code + " ") == std::string_view::npos) return std::nullopt;
  return code;
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<bool> flag_of(std::string_view text) {
  const auto word = to_lower(text);
  if (word == "true" || word == "1") return true;
  if (word == "false" || word == "0" || word.empty()) return false;
  return std::nullopt;
}

class Reader {
 public:
  Reader(const Form& form, bool translate) : form_(form), translate_(translate) {}

  Result<Canonical> read() {
    const auto* file = form_.find_file("file");
    if (file == nullptr) {
      return form_.find("file") == nullptr
                 ? fail(errc::missing_field, "'file' is required: the audio, as a file of the form", "file")
                 : fail(errc::bad_value, "'file' must be a file of the form, with a filename, not a text", "file");
    }
    if (file->bytes->size() == 0) return fail(errc::bad_value, "'file' is empty", "file");
    const auto kind = kind_of(file->bytes->head());
    if (kind == SoundKind::wav) {
      const auto wav = check_wav(file->bytes->head(), file->bytes->size(), "file");
      if (!wav) return std::unexpected(wav.error());
      facts_->wav = *wav;
    }
    if (const auto* model = form_.find("model")) asked_.about.model = *model;
    send("model", asked_.about.model);
    for (const auto step : {&Reader::read_format, &Reader::read_language, &Reader::read_prompt,
                            &Reader::read_temperature, &Reader::read_granularities, &Reader::read_rest}) {
      if (auto done = (this->*step)(); !done) return std::unexpected(std::move(done.error()));
    }
    out_->files.push_back(
        {"file", fmt::format("sound.{}", extension_of(kind)), std::string(content_type_of(kind)), file->bytes});
    asked_.about.stream = facts_->stream;
    asked_.form = out_;
    asked_.facts = facts_;
    return std::move(asked_);
  }

 private:
  void send(std::string_view name, std::string_view value) {
    if (!value.empty()) out_->fields.emplace_back(name, value);
  }

  Result<> read_format() {
    const auto* value = form_.find("response_format");
    if (value == nullptr || value->empty()) {
      send("response_format", "json");
      return {};
    }
    const auto known = std::ranges::find(kTranscriptFormats, *value);
    if (known == kTranscriptFormats.end()) {
      return fail(*value == "diarized_json" ? errc::unsupported_value : errc::bad_value,
                  fmt::format("'response_format' must be json, text, verbose_json, srt or vtt, not \"{:.64}\"", *value),
                  "response_format");
    }
    facts_->format = static_cast<TranscriptFormat>(known - kTranscriptFormats.begin());
    send("response_format", *value);
    // Saves whisper's server an expensive computation without use.
    if (facts_->format == TranscriptFormat::verbose_json) send("no_language_probabilities", "true");
    return {};
  }

  Result<> read_language() {
    const auto* value = form_.find("language");
    if (translate_) send("translate", "true");  // whisper's server has no path for it
    if (value == nullptr || value->empty() || *value == "auto") return {};
    const auto code = language_of(*value);
    if (!code) {
      return fail(errc::bad_value,
                  fmt::format("'language' must be a language code of whisper, such as en, de or zh, not \"{:.64}\"; "
                              "omit it to detect the language",
                              *value),
                  "language");
    }
    send("language", *code);
    return {};
  }

  Result<> read_prompt() {
    const auto* value = form_.find("prompt");
    if (value == nullptr) return {};
    if (value->size() > kLongestPrompt)
      return fail(
          errc::bad_value,
          fmt::format("'prompt' has more than {} bytes: models use only its last few hundred words", kLongestPrompt),
          "prompt");
    send("prompt", *value);
    return {};
  }

  Result<> read_temperature() {
    const auto* value = form_.find("temperature");
    if (value == nullptr || value->empty()) return {};
    const auto number = number_of(*value);
    if (!number || !(*number >= 0 && *number <= 1))
      return fail(errc::bad_value,
                  fmt::format("'temperature' must be a number between 0 and 1, not \"{:.64}\"", *value), "temperature");
    send("temperature", fmt::format("{}", *number));
    return {};
  }

  Result<> read_granularities() {
    const auto all = form_.all("timestamp_granularities");
    if (all.empty()) return {};
    constexpr std::string_view kName = "timestamp_granularities";
    if (facts_->format != TranscriptFormat::verbose_json)
      return fail(errc::bad_value, "'timestamp_granularities' needs response_format verbose_json", std::string(kName));
    facts_->segments = false;
    for (const auto& one : all) {
      if (one != "word" && one != "segment")
        return fail(errc::bad_value,
                    fmt::format("'timestamp_granularities' must be word or segment, not \"{:.64}\"", one),
                    std::string(kName));
      (one == "word" ? facts_->words : facts_->segments) = true;
      out_->fields.emplace_back("timestamp_granularities[]", one);
    }
    return {};
  }

  Result<> read_rest() {
    if (!form_.all("include").empty())
      return fail(errc::unsupported_value, "'include' is not supported: no backend returns log probabilities",
                  "include");
    const auto* value = form_.find("stream");
    if (value == nullptr) return {};
    const auto flag = flag_of(*value);
    if (!flag)
      return fail(errc::bad_value, fmt::format("'stream' must be true or false, not \"{:.64}\"", *value), "stream");
    if (*flag && facts_->format != TranscriptFormat::json && facts_->format != TranscriptFormat::text)
      return fail(errc::bad_value, "'stream' needs response_format json or text", "stream");
    facts_->stream = *flag;
    if (*flag) send("stream", "true");
    return {};
  }

  const Form& form_;
  const bool translate_;
  Canonical asked_;
  std::shared_ptr<Form> out_ = std::make_shared<Form>();
  std::shared_ptr<TranscriptionAsked> facts_ = std::make_shared<TranscriptionAsked>();
};

}  // namespace

Result<Canonical> read_transcription(Form form) { return Reader(form, false).read(); }
Result<Canonical> read_translation(Form form) { return Reader(form, true).read(); }

}  // namespace corral::dialects::audio
