// Objects of this room.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "api/inference/context.h"
#include "backends/speech/sound_converter.h"
#include "backends/speech/sound_encoder.h"
#include "backends/speech/voices.h"

namespace corral::api {

struct FilterContext {
  InferenceContext& inference;
  std::string request_defaults = {};           // a JSON object (config/load/request_defaults.h); empty: none
  backends::Voices* voices = nullptr;          // null: no speech
  backends::SoundConverter* sounds = nullptr;  // null: only sound formats that backends read
  // The bytes at the URL of a picture, at most so many; on any loop. Empty: pictures aren't fetched. Errors: their
  // message follows "cannot be fetched: ".
  std::function<async::Task<Result<std::string>>(std::string url, std::uint64_t max_bytes)> fetch_picture = {};
  backends::SoundEncoder* encoder = nullptr;  // null: speech only in formats that need no program
};

}  // namespace corral::api
