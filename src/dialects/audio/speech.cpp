#include "dialects/audio/speech.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "dialects/audio/encoder.h"
#include "dialects/error_filter.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/errors.h"
#include "protocol/forms.h"

namespace corral::dialects::audio {
namespace {

using protocol::errc;

struct FormatRow {
  std::string_view name, type;
  std::unique_ptr<Encoder> (*make)(const WavFormat& format);  // null: unsupported here
};
// In the order of SpeechFormat.
constexpr auto kFormats = std::to_array<FormatRow>({
    {"mp3", "audio/mpeg", make_mp3_encoder},
    {"opus", "audio/opus", nullptr},
    {"aac", "audio/aac", nullptr},
    {"flac", "audio/flac", nullptr},
    {"wav", "audio/wav", make_wav_encoder},
    {"pcm", "audio/pcm", make_pcm_encoder},
});
constexpr FormatRow kSamples{"samples", "", make_sample_encoder};
const FormatRow& row_of(SpeechFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

Error no_sound(std::string_view why) {
  return {make_error_code(errc::remote_upstream),
          fmt::format("the response of the backend is not readable audio: {}", why)};
}

// Makes the requested format of a wav, piece by piece. One thread at a time.
class Encoding {
 public:
  explicit Encoding(const FormatRow& row) : row_(row) {}

  // Takes the next bytes until the header is read. True: it is read, and its samples can be encoded.
  Result<bool> begin(std::string_view wav) {
    held_.append(wav);
    const auto start = read_wav_start(held_);
    if (!start) return std::unexpected(start.error());
    if (!*start) return false;
    const auto& format = (*start)->format;
    format_ = format;
    encoder_ = row_.make(format);
    if (!encoder_) {
      return fail(
          errc::unsupported_value,
          fmt::format("'response_format' {} is not available for sound with {} channels and {} samples a second: "
                      "use wav or pcm",
                      row_.name, format.channels, format.rate),
          "response_format");
    }
    kind_ = (*start)->kind;
    frame_ = bytes_of(kind_) * format.channels;
    if ((*start)->length) left_ = *(*start)->length;
    held_.erase(0, (*start)->samples_at);
    return true;
  }
  // What has been taken and the next bytes. Bytes behind the samples are no sound.
  std::string encode(std::string_view wav) {
    held_.append(wav);
    if (held_.size() > left_) held_.resize(left_);
    const auto whole = held_.size() / frame_ * frame_;
    if (whole == 0) return {};
    const auto samples = read_samples(std::string_view(held_).substr(0, whole), kind_);
    held_.erase(0, whole);
    left_ -= whole;
    return encoder_->encode(samples);
  }
  std::string end() { return encoder_->end(); }
  const WavFormat& format() const { return format_; }

 private:
  const FormatRow& row_;
  WavFormat format_;
  std::unique_ptr<Encoder> encoder_;
  std::string held_;
  SampleKind kind_ = SampleKind::signed_16;
  std::size_t frame_ = 2;                                           // bytes of one sample of each channel
  std::uint64_t left_ = std::numeric_limits<std::uint64_t>::max();  // bytes of samples that may still come
};

class SpeechBody final : public http::BodySource {
 public:
  // `encoding` has begun, with the first bytes of `wav`.
  SpeechBody(std::unique_ptr<http::BodySource> wav, std::shared_ptr<Encoding> encoding, async::ThreadPool* threads)
      : wav_(std::move(wav)), encoding_(std::move(encoding)), threads_(threads) {}

  async::Task<Result<std::string_view>> read() override {
    while (!ended_) {
      std::string wav;
      if (!std::exchange(first_, false)) {
        const auto piece = co_await wav_->read();
        if (!piece) co_return std::unexpected(piece.error());
        ended_ = piece->empty();
        wav = *piece;
      }
      auto encoding = encoded(std::move(wav), ended_);
      out_ = co_await std::move(encoding);
      if (!out_.empty()) co_return std::string_view(out_);
    }
    co_return std::string_view();
  }
  void abort() override { wav_->abort(); }

 private:
  async::Task<std::string> encoded(std::string wav, bool last) {
    // The work owns its data, because its waiter may be cancelled.
    auto work = [encoding = encoding_, wav = std::move(wav), last] {
      return last ? encoding->end() : encoding->encode(wav);
    };
    if (threads_ == nullptr) co_return work();
    co_return co_await threads_->run(std::move(work));
  }

  const std::unique_ptr<http::BodySource> wav_;
  const std::shared_ptr<Encoding> encoding_;
  async::ThreadPool* const threads_;
  std::string out_;
  bool first_ = true;  // what came with the header waits
  bool ended_ = false;
};

// A wav that has arrived completely.
class WholeWav final : public http::BodySource {
 public:
  explicit WholeWav(std::string wav) : wav_(std::move(wav)) {}
  async::Task<Result<std::string_view>> read() override {
    given_ = std::exchange(wav_, {});
    co_return std::string_view(given_);
  }

 private:
  std::string wav_, given_;
};

// Reads until the header is complete, so that its errors are the answer.
async::Task<Result<>> read_header(http::BodySource& wav, Encoding& encoding) {
  while (true) {
    const auto piece = co_await wav.read();
    if (!piece) co_return std::unexpected(piece.error());
    if (piece->empty()) co_return std::unexpected(no_sound("it ended before its first sample"));
    const auto begun = encoding.begin(*piece);
    if (!begun) co_return std::unexpected(begun.error());
    if (*begun) co_return Result<>();
  }
}

// An answer that breaks off is never the client's fault.
Error upstream_error(const Error& error) {
  if (corral::kind_of(error.code) != ErrorKind::invalid_request || error.code == errc::unsupported_value) return error;
  return no_sound(error.message);
}

// Begins to encode the wav of an answer.
async::Task<Result<std::shared_ptr<Encoding>>> begin_encoding(http::BodySource& wav, const FormatRow& row) {
  auto encoding = std::make_shared<Encoding>(row);
  auto reading = read_header(wav, *encoding);
  const auto read = co_await std::move(reading);
  if (!read) co_return std::unexpected(upstream_error(read.error()));
  co_return encoding;
}

std::unique_ptr<http::BodySource> source_of(http::Response& answer) {
  auto wav = answer.body.take_source();
  if (!wav) wav = std::make_unique<WholeWav>(std::move(answer.body.text()));
  return wav;
}

}  // namespace

bool is_wav(const http::Response& answer) {
  const auto type = answer.head.headers.get("Content-Type");
  return type.starts_with("audio/wav") || type.starts_with("audio/x-wav") || type.starts_with("audio/wave");
}

bool needs_program(SpeechFormat format) { return row_of(format).make == nullptr; }

Error needs_ffmpeg(SpeechFormat format) {
  return {make_error_code(errc::unsupported_value),
          fmt::format("'response_format' {} is not available for this model: use mp3, wav or pcm, or install ffmpeg on "
                      "the server's machine (apt-get install ffmpeg)",
                      row_of(format).name),
          "response_format"};
}

async::Task<Result<SpeechSamples>> samples_of(http::Response answer, async::ThreadPool* threads) {
  auto wav = source_of(answer);
  auto beginning = begin_encoding(*wav, kSamples);
  auto encoding = co_await std::move(beginning);
  if (!encoding) co_return std::unexpected(encoding.error());
  const auto format = (*encoding)->format();
  co_return SpeechSamples{format, std::make_unique<SpeechBody>(std::move(wav), std::move(*encoding), threads)};
}

std::string_view content_type_of(SpeechFormat format) { return row_of(format).type; }

Result<Canonical> read_speech(std::string body) {
  auto about = protocol::check(body, protocol::speech_fields());
  if (!about) return std::unexpected(std::move(about.error()));
  const auto peek = json::Peek::open(body);
  if (!peek) return std::unexpected(peek.error());
  const auto root = peek->root();
  auto facts = std::make_shared<SpeechAsked>();
  std::string_view format = root.find("response_format").as_string();
  if (format.empty()) format = row_of(facts->format).name;
  const auto known = std::ranges::find(kFormats, format, &FormatRow::name);
  if (known != kFormats.end()) facts->format = static_cast<SpeechFormat>(known - kFormats.begin());
  std::string canonical;
  json::Writer out(canonical);
  out.begin_object();
  root.each_member([&](std::string_view name, json::View value) {
    if (name == "response_format" || value.is_null()) return;
    if (name == "voice" && value.is_object()) value = value.find("id");
    out.any_key(name).raw(value.text());
  });
  out.field("response_format", format).end_object();
  Canonical asked{.body = std::move(canonical), .about = std::move(*about)};
  asked.facts = std::move(facts);
  return asked;
}

async::Task<http::Response> translate_speech(const Canonical& request, http::Response answer,
                                             async::ThreadPool* threads) {
  const auto& row = row_of(static_cast<const SpeechAsked*>(request.facts.get())->format);
  if (answer.head.status != 200 || !is_wav(answer)) co_return answer;
  const auto format = static_cast<const SpeechAsked*>(request.facts.get())->format;
  if (needs_program(format)) co_return error_response(needs_ffmpeg(format));
  auto wav = source_of(answer);
  auto beginning = begin_encoding(*wav, row);
  auto encoding = co_await std::move(beginning);
  if (!encoding) co_return error_response(encoding.error());
  auto body = std::make_unique<SpeechBody>(std::move(wav), std::move(*encoding), threads);
  http::Response translated{{answer.head.status, {}}, http::Body(std::move(body))};
  translated.head.headers.add("Content-Type", row.type);
  co_return translated;
}

}  // namespace corral::dialects::audio
