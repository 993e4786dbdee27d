// Sound in forms that backends don't read is converted first, where there is a program for it.
#pragma once

#include "api/context.h"
#include "dialects/form.h"

namespace corral::api {

// Files of sound in `form` that backends can't read as they are become wav. Errors: unsupported_value where nothing
// converts them, bad_value where that didn't work: they are no sound.
async::Task<Result<>> make_plain(ApiContext& context, dialects::Form& form);

}  // namespace corral::api
