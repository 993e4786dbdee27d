// The user's editor for a text: $VISUAL, else $EDITOR, else vi.
#pragma once

#include <string>

#include "base/error.h"
#include "config/load.h"

namespace corral::cli {

// Opens `text` in the editor and waits for its end. Returns the saved text, without line ends at its end. Blocks.
// Errors: request_failed if the editor can't be run or fails; system errors.
Result<std::string> edit_text(const std::string& text, const config::Environment& environment);

}  // namespace corral::cli
