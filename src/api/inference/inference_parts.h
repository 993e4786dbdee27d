// Shared code for requests with JSON bodies and requests with forms.
#pragma once

#include <optional>
#include <string>

#include "api/activity/activity_note.h"
#include "api/context.h"
#include "dialects/dialect.h"

namespace corral::api {

// Finds the model; it has this type if one is given. Errors: those of model_of_request(), wrong_model_type.
async::Task<Result<backends::ModelPtr>> model_for(ApiContext& context, const dialects::Endpoint& endpoint,
                                                  std::string name, std::optional<ModelType> type);

// Whether a request may load its model: ?autoload=, else the setting. A server's one model always comes back.
bool may_load(const ApiContext& context, const http::Request& request);

// For a request that may not load: the model must be in memory, or be loading. Errors: bad_value.
async::Task<Result<>> check_in_memory(ApiContext& context, backends::ModelPtr model);

// A request with a form with files (dialects/form.h). The form is read to its end before its model is loaded.
async::Task<http::Response> infer_form(ApiContext& context, const dialects::Endpoint& endpoint, http::Request request,
                                       NotePtr note);

}  // namespace corral::api
