#include "api/filters/plain_sound.h"

#include <utility>

#include <fmt/format.h>

#include "api/filters/filters.h"
#include "dialects/audio/sound_kind.h"
#include "dialects/error_filter.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

std::unexpected<Error> no_converter(std::string_view name, dialects::audio::SoundKind kind) {
  return fail(protocol::errc::unsupported_value,
              fmt::format("'{}' is {}: only wav, mp3, flac and ogg (Vorbis) are supported; for others install ffmpeg "
                          "on the server's machine (apt-get install ffmpeg)",
                          name, dialects::audio::name_of(kind)),
              std::string(name));
}

async::Task<http::Response> with_plain_sound(FilterContext& context, CallPtr call, Next next) {
  auto plain = make_plain(context, *call->canonical.form);
  const auto made = co_await std::move(plain);
  if (!made) co_return dialects::error_response(made.error());
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

}  // namespace

async::Task<Result<>> make_plain(FilterContext& context, dialects::Form& form) {
  namespace audio = dialects::audio;
  for (auto& file : form.files) {
    const auto kind = audio::kind_of(file.bytes->head());
    if (audio::is_plain(kind)) continue;
    if (context.sounds == nullptr || !context.sounds->is_there()) co_return no_converter(file.name, kind);
    auto converting = context.sounds->to_wav(file.bytes, *context.inference.uploads);
    auto wav = co_await std::move(converting);
    if (!wav) {
      auto error = std::move(wav.error());
      if (error.param.empty()) error.param = file.name;
      co_return std::unexpected(std::move(error));
    }
    file.bytes = std::move(*wav);
    file.filename = "sound.wav";
    file.type = audio::content_type_of(audio::SoundKind::wav);
  }
  co_return Result<>();
}

Filter plain_sound_filter(FilterContext& context) {
  return [&context](CallPtr call, Next next) {
    if (call->type != ModelType::transcription) return next(std::move(call));
    return with_plain_sound(context, std::move(call), next);
  };
}

}  // namespace corral::api
