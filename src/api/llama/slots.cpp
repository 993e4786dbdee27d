// GET slots: the sessions of all engine processes, and their idle sequences. If the server has one model, /slots has
// llama-server's shape: one entry for each sequence, busy or idle. Nothing here loads or wakes a model.
#include <algorithm>
#include <cmath>
#include <set>

#include "api/admin/children.h"
#include "api/base/core_routes.h"
#include "api/inference/model_of_request.h"
#include "api/llama/routes.h"
#include "dialects/error_filter.h"
#include "json/count.h"
#include "json/value.h"
#include "json/writer.h"
#include "router/base/errors.h"

namespace corral::api {
namespace {

constexpr Millis kSlotsPatience{1'000};
constexpr std::uint64_t kMaxPlaces = 64 * 256;  // workers, and requests of each

std::uint64_t count_in(const json::Value& object, std::string_view name) {
  return json::to_count(json::number_or(object, name, 0)).value_or(0);
}

// Idle entries of a model, up to as many entries as it has places. Their numbers differ from those of sessions.
void write_idle(json::Writer& out, const ModelName& model, const json::Value& props, std::set<std::uint64_t> numbers) {
  const auto* const settings = json::find(props, "default_generation_settings");
  const auto n_ctx = settings != nullptr ? count_in(*settings, "n_ctx") : 0;
  const auto total = std::min(count_in(props, "total_slots"), kMaxPlaces);
  for (std::uint64_t number = 0; numbers.size() < total; ++number) {
    if (!numbers.insert(number).second) continue;
    out.begin_object().field("model", model.value()).field("id", number).field("state", "idle");
    out.field("is_processing", false).field("n_ctx", n_ctx).end_object();
  }
}

// An engine's own list, with the name of its model in front of each entry. Anything else is no valid answer. Returns
// the numbers of its sessions.
std::optional<std::set<std::uint64_t>> write_slots(json::Writer& out, const ChildAnswer& answer) {
  const auto parsed = answer.text ? json::parse(*answer.text) : Result<json::Value>();
  const auto* slots = parsed ? parsed->if_array() : nullptr;
  if (!slots) return std::nullopt;
  std::set<std::uint64_t> numbers;
  for (const auto& slot : *slots) {
    const auto* fields = slot.if_object();
    if (!fields) continue;
    numbers.insert(count_in(slot, "id"));
    out.begin_object().field("model", answer.model.value());
    for (const auto& [name, value] : *fields) out.any_key(name).raw(json::serialize(value));
    out.end_object();
  }
  return numbers;
}

async::Task<http::Response> all_slots(LlamaContext& context) {
  const auto answers = co_await ask_children(context.core, "/slots", kSlotsPatience);
  std::string body;
  json::Writer out(body);
  out.begin_array();
  for (const auto& answer : answers) {
    auto numbers = write_slots(out, answer);
    if (!numbers) {
      out.begin_object().field("model", answer.model.value());
      out.field("error", "the engine did not respond in time").end_object();
      continue;
    }
    // Models of other backends have no sessions.
    const auto model = context.admin.files.models.find_known(answer.model.value());
    if (!model || (*model)->type != ModelType::llm) continue;
    const auto props = co_await ask_child(context.core, answer.model, "/props", kSlotsPatience);
    const auto known = props && props->text ? json::parse(*props->text) : Result<json::Value>();
    if (known) write_idle(out, answer.model, *known, std::move(*numbers));
  }
  out.end_array();
  co_return http::Response::json(200, std::move(body));
}

// With the status and the type of llama-server.
async::Task<http::Response> no_slots() {
  constexpr std::string_view kAnswer =
      R"({"error":{"code":501,"message":"slots are off: start the server with --slots","type":"not_supported_error"}})";
  co_return http::Response::json(501, std::string(kAnswer));
}

struct SlotPlace {
  bool busy = false;
  std::uint64_t tokens = 0, generated = 0;
};

// Busy ones first.
std::vector<SlotPlace> places_in(const json::Value& sessions, std::uint64_t total) {
  std::vector<SlotPlace> places;
  if (const auto* list = sessions.if_array()) {
    for (const auto& session : *list) {
      const auto* busy = json::find(session, "is_processing");
      if (busy == nullptr || !busy->is_bool() || !busy->get_bool()) continue;
      places.push_back({true, count_in(session, "tokens"), count_in(session, "generated")});
    }
  }
  places.resize(std::min(total, kMaxPlaces));
  return places;
}

void write_place(json::Writer& out, const SlotPlace& place, std::size_t number, std::uint64_t n_ctx) {
  out.begin_object().field("id", number).field("n_ctx", n_ctx).field("speculative", false);
  out.field("is_processing", place.busy);
  if (place.busy) {
    out.field("n_prompt_tokens", place.tokens - std::min(place.tokens, place.generated));
    out.key("next_token").begin_array().begin_object().field("has_next_token", true);
    out.field("n_decoded", place.generated).end_object().end_array();
  }
  out.end_object();
}

async::Task<http::Response> slots_of_one(LlamaContext& context) {
  const auto model = co_await model_of_request(context.inference, "", std::nullopt);
  if (!model) co_return dialects::error_response(model.error());
  const auto props = co_await ask_child(context.core, (*model)->name, "/props", kSlotsPatience);
  const auto sessions = co_await ask_child(context.core, (*model)->name, "/slots", kSlotsPatience);
  if (!props || !sessions) co_return http::Response::json(200, "[]");  // it isn't in memory
  const auto known = props->text ? json::parse(*props->text) : Result<json::Value>();
  const auto seen = sessions->text ? json::parse(*sessions->text) : Result<json::Value>();
  const auto* settings = known ? json::find(*known, "default_generation_settings") : nullptr;
  if (settings == nullptr || !seen) {
    const Error error(make_error_code(router::errc::backend_unreachable), "the engine did not respond in time");
    co_return dialects::error_response(error);
  }
  const auto places = places_in(*seen, count_in(*known, "total_slots"));
  const auto n_ctx = count_in(*settings, "n_ctx");
  std::string body;
  json::Writer out(body);
  out.begin_array();
  for (std::size_t i = 0; i < places.size(); ++i) write_place(out, places[i], i, n_ctx);
  out.end_array();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_llama_slots(std::vector<http::Route>& routes, LlamaContext& context) {
  const http::RouteHandler on_slots = [&context](http::Request, http::PathParams) {
    return context.slots ? all_slots(context) : no_slots();
  };
  const http::RouteHandler on_theirs = [&context](http::Request, http::PathParams) {
    return context.slots ? slots_of_one(context) : no_slots();
  };
  add_core(routes, "GET", "slots", on_slots);
  routes.push_back({"GET", "/slots", context.core.one_model ? on_theirs : on_slots});
}

}  // namespace corral::api
