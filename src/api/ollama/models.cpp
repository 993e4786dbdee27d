// Ollama's lists: all models, models in memory, one model, and the version.
#include <algorithm>

#include <fmt/format.h>

#include "api/admin/children.h"
#include "api/base/command_body.h"
#include "api/files/find_model.h"
#include "api/ollama/facts.h"
#include "api/ollama/routes.h"
#include "api/openai/mesh_models.h"
#include "dialects/error_filter.h"
#include "dialects/ollama/answers.h"
#include "protocol/errors.h"
#include "residency/instance_state.h"

namespace corral::api {
namespace {

using dialects::ollama::time_text;
using ollama::Facts;
using ollama::facts_of;

// The Ollama version with an equivalent API: clients derive supported features from it.
constexpr std::string_view kLikeOllama = "0.12.6";
constexpr Millis kTemplatePatience{2'000};
// Of a model without an idle limit. Clients show "forever" from a certain lifetime on.
constexpr std::chrono::hours kForEver{24 * 365 * 100};

void write_known(json::Writer& out, const Facts& facts) {
  out.begin_object();
  ollama::write_facts(out, facts, facts.bytes);
  out.field("modified_at", time_text(facts.modified)).end_object();
}

async::Task<http::Response> tags(SupplyContext& context) {
  const auto catalog = co_await context.files.models.catalog();
  const MeshModels mesh(context.core.node != nullptr ? context.core.node->view() : nullptr);
  std::string body;
  json::Writer out(body);
  out.begin_object().key("models").begin_array();
  const auto add = [&](const Facts& facts) {
    if (ollama::can_be_asked(facts)) write_known(out, facts);
  };
  for (const auto& model : catalog->models())
    if (!model->declared.unlisted) add(facts_of(*model, context.files.hashes));
  for (const auto& alias : catalog->user_aliases()) {
    const auto model = catalog->find(alias.model.value());
    if (!model || (*model)->declared.unlisted) continue;
    auto facts = facts_of(**model, context.files.hashes);
    facts.name = alias.name.value();
    add(facts);
  }
  for (const auto* model : mesh.far()) add(facts_of(*model));
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

// ---- in memory

WallTime expires_at(const residency::InstanceView& view, WallTime now) {
  const auto& eviction = view.eviction;
  if (view.pinned || !eviction.auto_evict || eviction.evict_idle_timeout < Millis(0)) return now + kForEver;
  return (view.leases > 0 ? now : view.last_use) + eviction.evict_idle_timeout;
}

void write_loaded(json::Writer& out, const router::InstanceReport& instance, WallTime now,
                  const models::ContentHashes* hashes) {
  const auto& predicted = instance.facts.predicted;
  const auto& devices = predicted ? predicted->devices : std::vector<DeviceMemory>();
  std::uint64_t on_gpus = 0;
  for (std::size_t i = 1; i < devices.size(); ++i) on_gpus += devices[i].total();
  const auto in_all = predicted ? predicted->total() : instance.facts.memory_bytes;
  out.begin_object();
  ollama::write_facts(out, facts_of(*instance.model, hashes), std::max(in_all, on_gpus));
  out.field("expires_at", time_text(expires_at(instance.view, now))).field("size_vram", on_gpus);
  out.field("context_length", instance.facts.context_window).end_object();
}

async::Task<http::Response> loaded(SupplyContext& context) {
  const auto report = co_await context.core.router.report();
  std::string body;
  json::Writer out(body);
  out.begin_object().key("models").begin_array();
  for (const auto& instance : report.instances) {
    const bool stays = instance.view.leaving == residency::StopReason::none;
    if (residency::is_resident(instance.view.state) && stays)
      write_loaded(out, instance, report.time, context.files.hashes);
  }
  out.end_array().end_object();
  co_return http::Response::json(200, std::move(body));
}

// ---- one

constexpr protocol::Field kNameFields[] = {
    {.name = "model", .kinds = protocol::kString, .min_size = 1},
    {.name = "name", .kinds = protocol::kString, .min_size = 1},
};

async::Task<Result<backends::ModelPtr>> named(SupplyContext& context, json::View body) {
  auto name = std::string(body.find("model").as_string());
  if (name.empty()) name = body.find("name").as_string();
  if (name.empty())
    co_return fail(protocol::errc::missing_field, "'model' is required: the name of a model, see /api/tags", "model");
  co_return co_await find_model(context.files, std::move(name));
}

// Of a model in memory: reading its file could make the client wait for a disk.
async::Task<std::string> chat_template(SupplyContext& context, ModelName model) {
  const auto props = co_await ask_child(context.core, std::move(model), "/props", kTemplatePatience);
  if (!props || !props->text) co_return std::string();
  const auto parsed = json::parse(*props->text);
  co_return parsed ? std::string(json::text_or(*parsed, "chat_template", "")) : std::string();
}

void write_model_info(json::Writer& out, const models::ModelInfo& model) {
  const auto& traits = model.traits;
  const auto own = [&](std::string_view what, std::uint64_t value) {
    if (value > 0 && !traits.architecture.empty()) out.any_key(traits.architecture + std::string(what)).value(value);
  };
  out.key("model_info").begin_object().field("general.architecture", traits.architecture);
  if (!traits.title.empty()) out.field("general.basename", traits.title);
  if (traits.parameters) out.field("general.parameter_count", *traits.parameters);
  own(".context_length", traits.context_length);
  own(".embedding_length", traits.embedding_length);
  own(".block_count", traits.layers);
  own(".vocab_size", traits.vocabulary);
  out.end_object();
}

async::Task<http::Response> show(SupplyContext& context, http::Request request) {
  static const protocol::FieldTable fields(kNameFields);
  const auto peek = co_await checked_body(context.bodies, request, fields);
  if (!peek) co_return dialects::error_response(peek.error());
  const auto model = co_await named(context, peek->root());
  if (!model) co_return dialects::error_response(model.error());
  const bool own = !fleet::is_remote(**model);
  auto facts = facts_of(**model, own ? context.files.hashes : nullptr);
  std::uint64_t usable = 0;
  std::string jinja;
  if (own) {
    const std::vector<backends::ModelPtr> one = {*model};
    const auto windows = co_await context.core.router.contexts(one);
    usable = windows.front().usable;
    const auto media = router::media_of(**model, windows.front().projector);
    facts.vision = media.pictures;
    facts.audio = media.sounds;
    jinja = co_await chat_template(context, (*model)->name);
  }
  std::string body;
  json::Writer out(body);
  out.begin_object().field("license", "").field("modelfile", "FROM " + facts.name + "\n");
  out.field("parameters", usable > 0 ? fmt::format("num_ctx {}", usable) : std::string());
  out.field("template", jinja);
  ollama::write_details(out, facts);
  write_model_info(out, **model);
  ollama::write_capabilities(out, facts);
  out.field("modified_at", time_text(facts.modified)).end_object();
  co_return http::Response::json(200, std::move(body));
}

async::Task<http::Response> version(const SupplyContext& context) {
  std::string body;
  json::Writer(body)
      .begin_object()
      .field("version", kLikeOllama)
      .field("corral", context.core.about.version)
      .end_object();
  co_return http::Response::json(200, std::move(body));
}

}  // namespace

void add_ollama_models(std::vector<http::Route>& routes, SupplyContext& context) {
  routes.push_back({"GET", "/api/tags", [&context](http::Request, http::PathParams) { return tags(context); }});
  routes.push_back({"GET", "/api/ps", [&context](http::Request, http::PathParams) { return loaded(context); }});
  routes.push_back({"POST", "/api/show",
                    [&context](http::Request request, http::PathParams) { return show(context, std::move(request)); }});
  routes.push_back({"GET", "/api/version", [&context](http::Request, http::PathParams) { return version(context); }});
}

}  // namespace corral::api
