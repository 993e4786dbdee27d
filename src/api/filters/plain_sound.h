// Converts sound in formats that backends don't read, if a converter is available.
#pragma once

#include "api/filters/context.h"
#include "dialects/form.h"

namespace corral::api {

// Converts files of sound in `form` that backends can't read to wav. Errors: unsupported_value if there is no
// converter, bad_value if the conversion failed: the file isn't sound.
async::Task<Result<>> make_plain(FilterContext& context, dialects::Form& form);

}  // namespace corral::api
