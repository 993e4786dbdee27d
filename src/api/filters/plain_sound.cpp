#include "api/filters/plain_sound.h"

#include <fmt/format.h>

#include "dialects/audio/sound_kind.h"
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

}  // namespace

async::Task<Result<>> make_plain(ApiContext& context, dialects::Form& form) {
  namespace audio = dialects::audio;
  for (auto& file : form.files) {
    const auto kind = audio::kind_of(file.bytes->head());
    if (audio::is_plain(kind)) continue;
    if (context.sounds == nullptr || !context.sounds->is_there()) co_return no_converter(file.name, kind);
    auto converting = context.sounds->to_wav(file.bytes, *context.uploads);
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

}  // namespace corral::api
