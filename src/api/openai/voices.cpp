// GET audio/voices: the voices of models that speak.
#include "api/base/core_routes.h"
#include "api/files/find_model.h"
#include "api/inference/openai_names.h"
#include "api/openai/routes.h"
#include "dialects/error_filter.h"
#include "http/message.h"
#include "json/writer.h"

namespace corral::api {
namespace {

void write_voices(json::Writer& out, const models::ModelInfo& model, const backends::VoiceList& voices) {
  for (const auto& voice : voices) {
    out.begin_object().field("id", voice.id).field("name", voice.name).field("language", voice.language);
    if (!voice.gender.empty()) out.field("gender", voice.gender);
    if (!voice.aliases.empty()) {
      out.key("aliases").begin_array();
      for (const auto& alias : voice.aliases) out.value(alias);
      out.end_array();
    }
    out.field("model", model.name.value()).end_object();
  }
  if (!backends::speaks_by_espeak(model)) return;
  for (const auto& [name, own] : backends::openai_voices()) {
    out.begin_object().field("id", name).field("name", name).field("language", own.substr(0, own.find('+')));
    out.field("same_as", own).field("model", model.name.value()).end_object();
  }
}

// For speech, so OpenAI's names mean what they mean there.
async::Task<Result<backends::ModelPtr>> speaker(FilterContext& context, std::string name) {
  const bool is_openais = type_of_openai_name(name) == ModelType::tts && is_free_name(context.inference, name);
  auto finding = is_openais ? best_model_now(context.inference, name, ModelType::tts)
                            : find_own_model(context.inference.files, name);
  co_return co_await std::move(finding);
}

// Of one model, or of all models with a list of voices.
async::Task<http::Response> list_voices(FilterContext& context, http::Request request) {
  const auto wanted = http::query_value(request.head.query(), "model");
  std::vector<backends::ModelPtr> models;
  if (wanted) {
    auto finding = speaker(context, *wanted);
    const auto model = co_await std::move(finding);
    if (!model) co_return dialects::error_response(model.error());
    models.push_back(*model);
  } else {
    const auto catalog = co_await context.inference.files.models.catalog();
    for (const auto& model : catalog->models()) {
      if (model->type == ModelType::tts) models.push_back(model);
    }
  }
  std::string body;
  json::Writer out(body);
  out.begin_object().field("object", "list").key("voices").begin_array();
  for (const auto& model : models) {
    if (context.voices == nullptr) break;
    auto asking = context.voices->of(*model);
    const auto voices = co_await std::move(asking);
    if (!voices && wanted) co_return dialects::error_response(voices.error());
    if (voices) write_voices(out, *model, **voices);
  }
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_voices(std::vector<http::Route>& routes, FilterContext& context) {
  add_core(routes, "GET", "audio/voices",
           [&context](http::Request request, http::PathParams) { return list_voices(context, std::move(request)); });
}

}  // namespace corral::api
