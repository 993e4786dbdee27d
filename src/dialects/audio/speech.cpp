#include "dialects/audio/speech.h"

#include <algorithm>
#include <array>
#include <cstring>

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
const FormatRow& row_of(SpeechFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

constexpr std::size_t kLongestHead = 4096;

Error no_sound() { return {make_error_code(errc::remote_upstream), "the response of the backend is not audio (wav)"}; }

class Encoding {
 public:
  explicit Encoding(const FormatRow& row) : row_(row) {}

  // Encodes the next bytes of a wav; empty bytes are its end.
  Result<std::string> take(std::string_view wav) {
    if (wav.empty()) return end();
    held_.append(wav);
    if (!encoder_) {
      const auto start = read_wav_start(held_);
      if (!start && held_.size() >= kLongestHead) return std::unexpected(no_sound());
      if (!start) return std::string();
      encoder_ = row_.make(start->format);
      if (!encoder_) return std::unexpected(no_sound());
      held_.erase(0, start->samples_at);
      frame_ = 2u * start->format.channels;
    }
    const auto whole = held_.size() / frame_ * frame_;
    if (whole == 0) return std::string();
    std::vector<std::int16_t> samples(whole / 2);
    std::memcpy(samples.data(), held_.data(), whole);
    held_.erase(0, whole);
    return encoder_->encode(samples);
  }

 private:
  Result<std::string> end() {
    if (!encoder_) return std::unexpected(no_sound());
    return encoder_->end();
  }

  const FormatRow& row_;
  std::unique_ptr<Encoder> encoder_;  // null: the wav's header hasn't arrived
  std::string held_;
  std::size_t frame_ = 2;
};

class SpeechBody final : public http::BodySource {
 public:
  SpeechBody(std::unique_ptr<http::BodySource> wav, const FormatRow& row, async::ThreadPool* threads)
      : wav_(std::move(wav)), encoding_(std::make_shared<Encoding>(row)), threads_(threads) {}

  async::Task<Result<std::string_view>> read() override {
    while (!ended_) {
      const auto piece = co_await wav_->read();
      if (!piece) co_return std::unexpected(piece.error());
      ended_ = piece->empty();
      auto encoding = encoded(std::string(*piece));
      auto bytes = co_await std::move(encoding);
      if (!bytes) co_return std::unexpected(std::move(bytes.error()));
      out_ = std::move(*bytes);
      if (!out_.empty()) co_return std::string_view(out_);
    }
    co_return std::string_view();
  }
  void abort() override { wav_->abort(); }

 private:
  async::Task<Result<std::string>> encoded(std::string wav) {
    if (threads_ == nullptr) co_return encoding_->take(wav);
    // The work owns its data, because its waiter may be cancelled.
    co_return co_await threads_->run([encoding = encoding_, wav = std::move(wav)] { return encoding->take(wav); });
  }

  const std::unique_ptr<http::BodySource> wav_;
  const std::shared_ptr<Encoding> encoding_;
  async::ThreadPool* const threads_;
  std::string out_;
  bool ended_ = false;
};

bool is_wav(const http::Response& answer) {
  const auto type = answer.head.headers.get("Content-Type");
  return type.starts_with("audio/wav") || type.starts_with("audio/x-wav") || type.starts_with("audio/wave");
}

}  // namespace

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

http::Response tell_speech(const Canonical& request, http::Response answer, async::ThreadPool* threads) {
  const auto& row = row_of(static_cast<const SpeechAsked*>(request.facts.get())->format);
  if (answer.head.status != 200 || !is_wav(answer)) return answer;
  if (row.make == nullptr) {
    return error_response(
        Error(make_error_code(errc::unsupported_value),
              fmt::format("'response_format' {} is not available for this model: use mp3, wav or pcm", row.name),
              "response_format"));
  }
  auto wav = answer.body.take_source();
  if (!wav) return answer;
  http::Response told{{answer.head.status, {}}, http::Body(std::make_unique<SpeechBody>(std::move(wav), row, threads))};
  told.head.headers.add("Content-Type", row.type);
  return told;
}

}  // namespace corral::dialects::audio
