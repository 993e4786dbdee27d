// Errors between a request and the engine. Errors of the engine keep their own codes.
#pragma once

#include "base/error.h"

namespace corral::engine_server {

enum class errc {
  invalid_template = 1,  // the model's chat template can't be read
  render_failed,         // the template refuses these messages
  answer_unreadable,     // the answer breaks the format it should have
  no_media,              // a picture or sound for a model of text
  no_infill,             // infill for a model that wasn't trained for it
};

}  // namespace corral::engine_server

CORRAL_DECLARE_ERRC(corral::engine_server);
