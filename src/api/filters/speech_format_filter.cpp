#include <utility>

#include "api/filters/filters.h"
#include "dialects/audio/speech.h"
#include "dialects/error_filter.h"

namespace corral::api {
namespace {

namespace audio = dialects::audio;

async::Task<http::Response> encoded(FilterContext& context, audio::SpeechFormat format, CallPtr call, Next next) {
  auto answering = next(std::move(call));
  auto answer = co_await std::move(answering);
  if (answer.head.status != 200 || !audio::is_wav(answer)) co_return answer;
  auto reading = audio::samples_of(std::move(answer), context.inference.bodies.threads);
  auto samples = co_await std::move(reading);
  if (!samples) co_return dialects::error_response(samples.error());
  auto encoding = context.encoder->encode(format, std::move(*samples));
  auto body = co_await std::move(encoding);
  if (!body) co_return dialects::error_response(body.error());
  http::Response made{{200, {}}, http::Body(std::move(*body))};
  made.head.headers.add("Content-Type", audio::content_type_of(format));
  co_return made;
}

}  // namespace

Filter speech_format_filter(FilterContext& context) {
  return [&context](CallPtr call, Next next) {
    // Other endpoints have facts of another type.
    if (call->endpoint->translate_sound != audio::translate_speech) return next(std::move(call));
    const auto format = static_cast<const audio::SpeechAsked*>(call->canonical.facts.get())->format;
    if (!audio::needs_program(format)) return next(std::move(call));
    if (context.encoder != nullptr && context.encoder->is_there())
      return encoded(context, format, std::move(call), next);
    // Other backends may make the format themselves.
    if (backends::speaks_by_espeak(*call->model())) return refused(audio::needs_ffmpeg(format));
    return next(std::move(call));
  };
}

}  // namespace corral::api
