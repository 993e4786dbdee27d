// Inference endpoints: read the body in its dialect, find the model, forward the request, translate the answer. This
// code is the same for all dialects and endpoints.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "api/access/rights.h"
#include "api/access/sharing.h"
#include "api/activity/activity_note.h"
#include "api/admin/keep.h"
#include "api/base/body_check.h"
#include "api/filters/request_defaults.h"
#include "api/inference/answer_of_model.h"
#include "api/inference/inference_parts.h"
#include "api/inference/model_of_request.h"
#include "api/openai/lm_studio.h"
#include "api/responses/in_background.h"
#include "api/responses/keeping.h"
#include "api/routes.h"
#include "api/supply/auto_pull.h"
#include "dialects/error_filter.h"
#include "dialects/own_names.h"
#include "dialects/told.h"
#include "fleet/requests/conversation.h"
#include "json/byte_order_mark.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

using dialects::Endpoint;

// For messages: the path as in the documentation.
std::string_view shown_path(const Endpoint& endpoint) {
  return endpoint.path.starts_with('/') ? endpoint.path.substr(1) : endpoint.path;
}

// Keeps the turns of a conversation at one node. Unused for this machine's own models.
std::uint64_t conversation_of(const models::ModelInfo& model, const http::Headers& headers, std::string_view body,
                              std::string_view client) {
  if (!fleet::is_remote(model)) return 0;
  const auto session = session_of(headers);
  return session.empty() ? fleet::conversation_of(body, client) : fleet::session_number(session, client);
}

// The requested context, at most what the model supports.
std::uint64_t context_of(const dialects::Canonical& asked, const models::ModelInfo& model) {
  const auto trained = model.traits.context_length;
  return asked.modest_context && trained > 0 ? std::min(asked.about.context, trained) : asked.about.context;
}

// Large answers are translated off the loop: embeddings may have many megabytes.
async::Task<http::Response> tell(ApiContext& context, http::Response answer,
                                 std::unique_ptr<dialects::ResponseTranslator> translator, dialects::AtEnd at_end,
                                 dialects::Begun begun, std::shared_ptr<const dialects::OwnNames> names) {
  const bool small = answer.body.streaming() || answer.body.text().size() <= kSmallBody;
  if (small || context.body_threads == nullptr)
    co_return dialects::told(std::move(answer), std::move(translator), std::move(at_end), begun, std::move(names));
  auto work = [answer = std::move(answer), translator = std::move(translator), at_end = std::move(at_end),
               begun = std::move(begun), names = std::move(names)]() mutable {
    return dialects::told(std::move(answer), std::move(translator), std::move(at_end), begun, std::move(names));
  };
  co_return co_await context.body_threads->run(std::move(work));
}

// Adds default values of request fields (a JSON object; empty: none). Large bodies off the loop, too.
async::Task<std::string> completed(ApiContext& context, std::string body, std::string defaults, protocol::Ask ask) {
  if (defaults.empty()) co_return body;
  if (body.size() <= kSmallBody || context.body_threads == nullptr)
    co_return with_defaults(std::move(body), defaults, ask);
  auto work = [body = std::move(body), defaults = std::move(defaults), ask]() mutable {
    return with_defaults(std::move(body), defaults, ask);
  };
  co_return co_await context.body_threads->run(std::move(work));
}

// The name of a stream that continues after its client disconnects; empty: it doesn't.
KeptStreams::Name kept_name(const http::Request& request) {
  const auto id = request.head.headers.get(kConversationId);
  return {request.caller.key, id.size() <= kLongestConversationId ? std::string(id) : std::string()};
}

// Downloads a missing model first.
async::Task<http::Response> forwarded(ApiContext& context, std::string to_fetch, std::optional<ModelType> type,
                                      std::string path, router::ForwardRequest forward, NotePtr note) {
  auto answering = to_fetch.empty()
                       ? answer_of_model(context, std::move(forward))
                       : forward_when_here(context, std::move(to_fetch), type, std::move(path), std::move(forward));
  auto answer = co_await std::move(answering);
  co_return note->counted(std::move(answer));
}

// A request with a parsed body and a known model.
struct ReadRequest {
  http::Request request;
  dialects::Canonical canonical;
  backends::ModelPtr model;
  std::shared_ptr<const void> place;
  NotePtr note;
  MonoTime began;
  protocol::Ask ask = protocol::Ask::chat;
  bool background = false;             // runs after others
  std::string to_fetch = {};           // the name of a model to download first; empty: it is on this disk
  std::optional<ModelType> type = {};  // required type of the model
  // Called when a model works on it.
  std::function<void()> started = {};
};

async::Task<http::Response> carry_out(ApiContext& context, const Endpoint& endpoint, ReadRequest work) {
  auto& [request, asked, model, place, note, began, ask, background, to_fetch, type, started] = work;
  auto translator = endpoint.tell != nullptr ? endpoint.tell(asked) : nullptr;
  // If the requested time is short, the model must stay until it has answered.
  const auto keep = asked.only_keeps ? std::nullopt : keep_of(asked, request.caller, *model);
  dialects::AtEnd at_end;
  if (translator) {
    at_end = [&context, since = began, keep, name = model->name] {
      if (keep) context.router.keep(name, *keep);
      return context.timers.now() - since;
    };
  }
  if (asked.only_keeps) {
    auto keeping = keep_alone(context, request, asked, std::move(model));
    auto kept = co_await std::move(keeping);
    co_return dialects::told(std::move(kept), std::move(translator), std::move(at_end));
  }
  const auto answers_as = !translator && lm_studio::is_path(request.head.path()) ? model : nullptr;
  const auto& about = asked.about;
  const auto wanted = context_of(asked, *model);
  // An answer in another dialect isn't kept, because a later reader would get the canonical form.
  const bool keeps = about.stream && endpoint.streams && !translator && endpoint.tell_sound == nullptr;
  auto kept = keeps ? kept_name(request) : KeptStreams::Name();
  router::ForwardRequest forward{.model = std::move(model),
                                 .ask = ask,
                                 .body = std::move(asked.body),
                                 .stream = about.stream && endpoint.streams,
                                 .id = request.id,
                                 .ping_interval = about.ping_interval,
                                 .context = {wanted, has(request.caller, kAdmin)},
                                 .owner = router::OwnerId(std::move(request.caller.key)),
                                 .client = router::ClientAddress(std::move(request.peer))};
  const auto& key = forward.owner.value();
  const auto& client = key.empty() ? forward.client.value() : key;
  forward.conversation = conversation_of(*forward.model, request.head.headers, forward.body, client);
  forward.background = background;
  forward.placed = [its = note, begun = std::move(started)](const router::NodeRef& node) {
    its->placed(node);
    if (begun) begun();
  };
  forward.held = std::move(place);
  auto answering =
      forwarded(context, std::move(to_fetch), type, std::string(shown_path(endpoint)), std::move(forward), note);
  if (!kept.second.empty()) answering = context.kept_streams.keep(std::move(kept), std::move(answering));
  auto answer = co_await std::move(answering);
  if (asked.names) answer = dialects::in_own_names(std::move(answer), *asked.names);
  if (endpoint.tell_sound != nullptr) {
    auto telling = endpoint.tell_sound(asked, std::move(answer), context.body_threads);
    co_return co_await std::move(telling);
  }
  if (answers_as) co_return lm_studio::with_stats(std::move(answer), *answers_as);
  if (!translator) co_return answer;
  auto telling = tell(context, std::move(answer), std::move(translator), std::move(at_end), std::move(asked.begun),
                      std::move(asked.names));
  co_return co_await std::move(telling);
}

// A background answer is the last owner of its note.
async::Task<http::Response> noted_answer(ApiContext& context, const Endpoint& endpoint, ReadRequest work) {
  const auto note = work.note;
  auto answering = carry_out(context, endpoint, std::move(work));
  auto response = co_await std::move(answering);
  co_return note->answered(std::move(response));
}

// `note` is moved away if the answer is made elsewhere.
async::Task<http::Response> infer(ApiContext& context, const Endpoint& endpoint, http::Request request, NotePtr& note) {
  const auto began = context.timers.now();
  auto place = place_of(context, request.caller);
  if (!place) co_return dialects::error_response(place.error());
  const bool background = in_background(context, request);
  auto body = co_await request.body.read_all(context.max_body_bytes);
  if (!body) co_return dialects::error_response(body.error());
  *body = json::without_byte_order_mark(std::move(*body));
  note->said(*body);
  std::shared_ptr<Keeping> keeping;
  auto reading = endpoint.read_on != nullptr ? Keeping::read(context, endpoint, request, std::move(*body), keeping)
                                             : read_body(context.body_threads, endpoint, std::move(*body));
  auto asked = co_await std::move(reading);
  if (!asked) co_return dialects::error_response(asked.error());
  const auto ask = asked->ask.value_or(endpoint.ask);
  const auto type = asked->only_keeps ? std::nullopt : protocol::row_of(ask).type;
  note->wants(asked->about.model);
  auto model = co_await model_for(context, endpoint, asked->about.model, type);
  std::string to_fetch;
  if (!model && !asked->only_keeps && fetches(context, request.caller, asked->about.model, model.error())) {
    to_fetch = asked->about.model;
    model = coming_model(to_fetch, type.value_or(ModelType::llm));
  }
  if (!model) co_return dialects::error_response(model.error());
  const bool unloads = asked->only_keeps && asked->keep == Millis(0);
  if (!unloads && !may_load(context, request)) {
    const auto there = co_await check_in_memory(context, *model);
    if (!there) co_return dialects::error_response(there.error());
  }
  if (asked->about.model.empty()) asked->about.model = (*model)->name.value();
  note->wants((*model)->name.value());
  if (ask == protocol::Ask::speech && context.voices != nullptr) {
    auto fitting = context.voices->fitted(std::move(asked->body), **model);
    auto fitted = co_await std::move(fitting);
    if (!fitted) co_return dialects::error_response(fitted.error());
    asked->body = std::move(*fitted);
  }
  // Defaults of an alias precede those of the server.
  auto defaults = context.models.defaults_of(asked->about.model);
  asked->body = co_await completed(context, std::move(asked->body), std::move(defaults), ask);
  asked->body = co_await completed(context, std::move(asked->body), context.request_defaults, ask);
  asked->id = request.id.value();
  asked->received = context.timers.wall_now();
  ReadRequest work{.request = std::move(request),
                   .canonical = std::move(*asked),
                   .model = std::move(*model),
                   .place = std::move(*place),
                   .note = note,
                   .began = began,
                   .ask = ask,
                   .background = background,
                   .to_fetch = std::move(to_fetch),
                   .type = type};
  if (keeping && keeping->in_background()) {
    note.reset();
    const auto& canonical = work.canonical;
    const auto bytes = canonical.body.size() + keeping->storage().input.size();
    auto shown = shown_in_background(canonical);
    auto begin = [&context, &endpoint, work = std::move(work)](std::function<void()> started) mutable {
      work.started = std::move(started);
      return noted_answer(context, endpoint, std::move(work));
    };
    auto beginning = begin_in_background(context, std::move(keeping), std::move(shown), bytes, std::move(begin));
    co_return co_await std::move(beginning);
  }
  auto answering = carry_out(context, endpoint, std::move(work));
  auto response = co_await std::move(answering);
  if (!keeping) co_return response;
  auto keeping_it = kept(std::move(response), std::move(keeping));
  co_return co_await std::move(keeping_it);
}

async::Task<http::Response> noted(ApiContext& context, std::shared_ptr<ActivityBoard> board, std::string_view dialect,
                                  const Endpoint& endpoint, http::Request request) {
  auto note = std::make_shared<ActivityNote>(context, std::move(board), dialect, request);
  auto answering = endpoint.read_form != nullptr ? infer_form(context, endpoint, std::move(request), note)
                                                 : infer(context, endpoint, std::move(request), note);
  auto answer = co_await std::move(answering);
  if (!note) co_return answer;
  co_return note->answered(std::move(answer));
}

}  // namespace

bool may_load(const ApiContext& context, const http::Request& request) {
  const auto said = http::query_value(request.head.query(), "autoload");
  if (!said) return context.models_autoload || context.one_model;
  return said == "true" || said == "1";
}

async::Task<Result<>> check_in_memory(ApiContext& context, backends::ModelPtr model) {
  const auto report = co_await context.router.report();
  const auto named = [&](const router::InstanceReport& instance) { return instance.view.spec->name == model->name; };
  if (fleet::is_remote(*model) || std::ranges::any_of(report.instances, named)) co_return Result<>();
  co_return fail(protocol::errc::bad_value,
                 fmt::format("'{}' is not in memory, and this request does not load models (autoload=false, or the "
                             "setting models_autoload is off): load it first with POST /v1/load",
                             model->name.value()),
                 "model");
}

async::Task<Result<backends::ModelPtr>> model_for(ApiContext& context, const Endpoint& endpoint, std::string name,
                                                  std::optional<ModelType> type) {
  auto finding = model_of_request(context, std::move(name), type);
  auto model = co_await std::move(finding);
  if (!model || !type || (*model)->type == *type) co_return model;
  const models::ModelInfo& info = **model;
  co_return std::unexpected(protocol::wrong_model_type(info.name.value(), info.type, shown_path(endpoint), *type));
}

void add_inference(std::vector<http::Route>& routes, ApiContext& context) {
  add_inference(routes, context, std::make_shared<ActivityBoard>());
}

void add_inference(std::vector<http::Route>& routes, ApiContext& context, std::shared_ptr<ActivityBoard> board) {
  for (const auto* dialect : context.dialects) {
    for (const auto& endpoint : dialect->endpoints) {
      auto call = [&context, board, name = dialect->name, &endpoint](http::Request request, http::PathParams) {
        return noted(context, board, name, endpoint, std::move(request));
      };
      if (endpoint.path.starts_with('/')) {
        routes.push_back({"POST", std::string(endpoint.path), std::move(call)});
      } else {
        add_core(routes, "POST", endpoint.path, std::move(call));
      }
    }
  }
}

}  // namespace corral::api
