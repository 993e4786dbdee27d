// Aliases of models, for every dialect.
#pragma once

#include <string>

#include "api/context.h"

namespace corral::api {

// Saves it in aliases.json. Errors: unsupported_value, name_taken; those of NameBook.
async::Task<Result<>> put_alias(ApiContext& context, std::string alias, std::string target);

}  // namespace corral::api
