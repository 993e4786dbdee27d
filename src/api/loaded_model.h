// Which model a request means that names none.
#pragma once

#include <optional>

#include "api/context.h"

namespace corral::api {

// Of the models of this type, or of all: the only one in memory, else the only one there is, loaded or not. One that is
// on its way out of memory doesn't count as loaded. Pure. Errors: protocol::errc::missing_field, which lists names to
// choose from.
Result<backends::ModelPtr> unnamed_model(const router::Report& report, const models::Catalog& catalog,
                                         std::optional<ModelType> type);
// The same of how things stand now.
async::Task<Result<backends::ModelPtr>> unnamed_model_now(ApiContext& context, std::optional<ModelType> type);

// The model that requests of that name go to; "": they name none. Where the server was given one model it is that one
// for every name that isn't another's. Errors: those of find_model() and unnamed_model().
async::Task<Result<backends::ModelPtr>> model_of_request(ApiContext& context, std::string name,
                                                         std::optional<ModelType> type);

}  // namespace corral::api
