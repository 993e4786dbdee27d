// Another name for a model, for every dialect.
#pragma once

#include <string>

#include "api/context.h"

namespace corral::api {

// Kept in aliases.json. Errors: unsupported_value, name_taken; those of NameBook.
async::Task<Result<>> put_alias(ApiContext& context, std::string alias, std::string target);

}  // namespace corral::api
