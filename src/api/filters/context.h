// Objects of this room.
#pragma once

#include <string>

#include "api/inference/context.h"
#include "backends/speech/sound_converter.h"
#include "backends/speech/voices.h"

namespace corral::api {

struct FilterContext {
  InferenceContext& inference;
  std::string request_defaults = {};           // a JSON object (config/load/request_defaults.h); empty: none
  backends::Voices* voices = nullptr;          // null: no speech
  backends::SoundConverter* sounds = nullptr;  // null: only sound formats that backends read
};

}  // namespace corral::api
