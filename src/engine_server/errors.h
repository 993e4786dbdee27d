// What can go wrong between a request and the engine. Causes of the engine itself pass through under their own names.
#pragma once

#include "base/error.h"

namespace corral::engine_server {

enum class errc {
  invalid_template = 1,  // the model's chat template can't be read
  render_failed,         // the template refuses these messages
  answer_unreadable,     // the answer breaks the format it should have
  no_media,              // a picture or sound for a model of text
  no_infill,             // a gap to fill for a model that wasn't trained for it
};

}  // namespace corral::engine_server

CORRAL_DECLARE_ERRC(corral::engine_server);
