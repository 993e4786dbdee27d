// What requests with bodies of JSON and requests with forms have in common.
#pragma once

#include <optional>
#include <string>

#include "api/activity_note.h"
#include "api/context.h"
#include "dialects/dialect.h"

namespace corral::api {

// Of that type, where one is needed. Errors: those of model_of_request(), wrong_model_type.
async::Task<Result<backends::ModelPtr>> model_for(ApiContext& context, const dialects::Endpoint& endpoint,
                                                  std::string name, std::optional<ModelType> type);

// A request whose body is a form with files (dialects/form.h): read to its end before a model is loaded for it.
async::Task<http::Response> infer_form(ApiContext& context, const dialects::Endpoint& endpoint, http::Request request,
                                       NotePtr note);

}  // namespace corral::api
