#include "api/routes.h"

#include <utility>

#include "api/access/key_place_filter.h"
#include "api/access/rights.h"
#include "api/activity/filters.h"
#include "api/admin/keep.h"
#include "api/admin/routes.h"
#include "api/console/console.h"
#include "api/console/routes.h"
#include "api/filters/filters.h"
#include "api/images/filters.h"
#include "api/images/routes.h"
#include "api/inference/steps.h"
#include "api/llama/kept_stream_filter.h"
#include "api/llama/routes.h"
#include "api/ollama/routes.h"
#include "api/openai/lm_studio_filter.h"
#include "api/openai/routes.h"
#include "api/openapi.h"
#include "api/responses/filters.h"
#include "api/responses/routes.h"
#include "api/supply/filters.h"
#include "api/supply/routes.h"
#include "dialects/error_filter.h"

namespace corral::api {
namespace {

async::Task<http::Response> described(std::shared_ptr<const std::string> description) {
  co_return http::Response::json(200, *description);
}

}  // namespace

std::vector<InferenceFilter> inference_filters(ApiContext& context, std::shared_ptr<ActivityBoard> board) {
  using enum Bodies;
  return {
      // First: the log has refused requests, too.
      {noting_filter(context.core, std::move(board)), all},
      // Before the body is read: slow uploads take a place.
      {key_place_filter(context.access), all},
      {read_body_step(context.inference), json},
      {read_form_step(context.inference), forms},
      // Before the body is parsed: what it refers to is a part of it.
      {continuing_filter(context.responses), json},
      {parse_body_step(context.inference), json},
      {find_model_step(context.inference), all},
      // After a failed search: it may replace the error.
      {missing_model_filter(context.supply), json},
      // After the download was decided: it replaces errors only.
      {image_model_filter(context.images), all},
      // Before the request is complete: the log has the requested name of a model that isn't in memory.
      {autoload_filter(context.inference), all},
      {known_model_step(context.inference), all},
      // After the last refusal that needs no work: sound is converted for requests that can succeed.
      {plain_sound_filter(context.filters), forms},
      // The same for pictures of the web. Before answers in the background: it may refuse the request.
      {media_filter(context.filters), json},
      // Before defaults: a voice is checked as the client sent it.
      {voice_filter(context.filters), json},
      {default_filter(context.filters), json},
      // After everything that may refuse the request: a background answer has begun when its client gets a document.
      {background_filter(context.responses), json},
      // Around the translation: it stores answers as the client gets them.
      {keeping_filter(), json},
      // Before the translation, whose end is the end of the answer.
      {keep_filter(context.admin), json},
      // After the conversion, which makes wav, and around the translation of each piece.
      {transcript_pieces_filter(context.filters), forms},
      // Around the translation: the stream of events begins before the answer is complete.
      {transcript_stream_filter(context.filters), forms},
      {translate_step(context.inference), all},
      // Inside the translation, which takes sound in any other format than wav as it is.
      {speech_format_filter(context.filters), json},
      // Inside the translation: their answers are canonical.
      {keep_only_filter(context.admin), json},
      {lm_studio_filter(), json},
      {own_name_filter(), json},
      // Inside everything that changes the answer: later readers get the same bytes.
      {kept_stream_filter(context.llama.kept_streams), json},
      // After defaults: the conversation is a hash of the body.
      {conversation_filter(), json},
      // Around the download: its pings and errors are a part of the answer.
      {counting_filter(), all},
      // Last before the model: the other filters are done with a request that waits.
      {download_filter(context.supply), json},
      // Around each call of the model: an answer may take several.
      {image_filter(context.images), all},
      {forward_step(context.inference), all},
  };
}

std::unique_ptr<http::Handler> make_api(ApiContext& context) {
  std::vector<http::Route> routes;
  const auto board = std::make_shared<ActivityBoard>();
  add_inference(routes, context.inference, inference_filters(context, board));
  add_models(routes, context.supply);
  add_voices(routes, context.filters);
  add_image_files(routes, context.images);
  add_ollama_models(routes, context.supply);
  add_ollama_registry(routes, context.supply);
  add_response_socket(routes, context.responses);
  if (context.core.store) add_responses(routes, context.responses);
  if (context.core.store) add_conversations(routes, context.responses);
  add_root(routes, context.llama);
  add_llama_models(routes, context.llama);
  add_llama_swap(routes, context.llama);
  add_llama_slots(routes, context.llama);
  add_streams(routes, context.llama);
  add_health(routes, context.admin);
  add_memory(routes, context.core);
  if (context.admin.stats) add_stats_history(routes, context.admin);
  add_load(routes, context.admin);
  add_events(routes, context.admin);
  add_logs(routes, context.admin);
  add_requests(routes, context.core, board);
  if (context.core.store) add_activity(routes, context.admin);
  add_metrics(routes, context.admin);
  add_options(routes, context.admin);
  if (context.core.settings) add_config(routes, context.admin);
  if (context.access.keys) add_keys(routes, context.admin);
  if (context.files.verifier) add_verify(routes, context.admin);
  if (context.supply.supply) {
    add_pull(routes, context.supply);
    add_downloads(routes, context.supply);
    add_removal(routes, context.supply);
    add_names(routes, context.supply);
    add_import(routes, context.supply);
  }
  if (context.core.node) add_mesh(routes, context.admin);
  if (context.core.node) add_mesh_allotment(routes, context.admin);
  // The description contains all routes, its own included.
  const auto description = std::make_shared<std::string>();
  routes.push_back(
      {"GET", "/openapi.json", [description](http::Request, http::PathParams) { return described(description); }});
  protect(routes);
  *description = openapi_description(routes, context.core.about.version);
  // The page is not a part of the API.
  add_console(routes, context.core.about);
  protect(routes);
  auto failure = [&about = context.core.about](const http::Request& request, unsigned status) {
    if (auto page = status == 403 ? console_without_key(about, request) : std::nullopt) return std::move(*page);
    return status == 403 ? refuse_caller(request) : dialects::path_error(request, status);
  };
  return std::make_unique<http::RouteTable>(std::move(routes), failure);
}

}  // namespace corral::api
