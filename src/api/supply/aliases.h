// Aliases of models, for every dialect.
#pragma once

#include <string>

#include "api/supply/context.h"

namespace corral::api {

// Saves it in aliases.json. `defaults`: default values of request fields (config/load/request_defaults.h); empty: none.
// Errors: unsupported_value, name_taken, config::errc::invalid_value; those of NameStore.
async::Task<Result<>> put_alias(SupplyContext& context, std::string alias, std::string target,
                                std::string defaults = {});

}  // namespace corral::api
