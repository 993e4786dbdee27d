// Chooses the model for a request that names none.
#pragma once

#include <optional>

#include "api/inference/context.h"

namespace corral::api {

// Among the models of this type, or of all types with tokens: the only one in memory, else the only one in the catalog.
// An instance that is being stopped isn't in memory. Pure. Errors: protocol::errc::missing_field, which lists names to
// choose from.
Result<backends::ModelPtr> unnamed_model(const router::Report& report, const models::Catalog& catalog,
                                         std::optional<ModelType> type);
// The same with the current report and catalog.
async::Task<Result<backends::ModelPtr>> unnamed_model_now(InferenceContext& context, std::optional<ModelType> type);

// The model for requests with this name; "": no name. If the server was started with one model, it is that model for
// every name that no other model has. Errors: those of find_model() and unnamed_model().
async::Task<Result<backends::ModelPtr>> model_of_request(InferenceContext& context, std::string name,
                                                         std::optional<ModelType> type);

}  // namespace corral::api
