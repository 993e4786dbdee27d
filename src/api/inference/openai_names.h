// OpenAI's names of models for speech, transcription and images, which many clients send unchanged. They mean the
// best model of their type on this machine.
#pragma once

#include <optional>
#include <string_view>

#include "api/inference/context.h"

namespace corral::api {

// Nothing: it is no such name.
std::optional<ModelType> type_of_openai_name(std::string_view name);

// Of this type: models in memory come first; then speech of other programs before espeak-ng, and larger files before
// smaller ones; then by name. Null: there is none. Pure.
backends::ModelPtr best_model(const router::Report& report, const models::Catalog& catalog, ModelType type);

// The model for one of these names. Errors: models::errc::model_not_found, with the command that gets one.
async::Task<Result<backends::ModelPtr>> best_model_now(InferenceContext& context, std::string_view name,
                                                       ModelType type);

// Whether the name has no meaning of its own, here or at other nodes, and the server has more than one model.
bool is_free_name(const InferenceContext& context, std::string_view name);

}  // namespace corral::api
