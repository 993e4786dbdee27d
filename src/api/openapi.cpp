#include "api/openapi.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <ranges>
#include <vector>

#include "api/access/rights.h"
#include "api/admin/load_body.h"
#include "api/admin/routes.h"
#include "api/llama/routes.h"
#include "api/supply/routes.h"
#include "base/text.h"
#include "dialects/ollama/fields.h"
#include "dialects/paths.h"
#include "protocol/docs.h"
#include "protocol/forms.h"

namespace corral::api {
namespace {

constexpr std::string_view kAbout =
    "One endpoint for many local models. Paths under /v1 also exist under /api/v1, /v0 and /api/v0 (lists of models "
    "under /api/v0 have LM Studio's format). Unknown fields are ignored. A key is required only if the server has "
    "keys.";

// Field tables of bodies that protocol/docs.h doesn't list.
const protocol::FieldTable* more_bodies(std::string_view path) {
  namespace ollama = dialects::ollama;
  if (path == "/api/chat") return &ollama::chat_fields();
  if (path == "/api/generate") return &ollama::generate_fields();
  if (path == "/api/embed") return &ollama::embed_fields();
  if (path == "/api/embeddings") return &ollama::old_embedding_fields();
  if (path == "/v1/load" || path == "/v1/estimate") return &load_fields();
  if (path == "/v1/verify") return &verify_fields();
  if (path == "/v1/pull") return &pull_fields();
  if (path == "/v1/downloads/control") return &download_control_fields();
  if (path == "/v1/delete") return &removal_fields();
  if (path == "/v1/models/register") return &register_fields();
  if (path == "/internal/aliases") return &alias_fields();
  if (path == "/v1/import") return &import_fields();
  if (path == "/models/load" || path == "/models/unload") return &named_model_fields();
  if (path == "/v1/streams/lookup") return &lookup_fields();
  return nullptr;
}

// The table's name for a path with the same meaning.
std::string_view table_name(std::string_view path) {
  if (path == "/completions") return "completion";  // llama-server's, which isn't OpenAI's
  if (path == "/embeddings") return "embedding";
  for (const std::string_view prefix : {"/v1/", "/v2/", "/"}) {
    if (!path.starts_with(prefix)) continue;
    path.remove_prefix(prefix.size());
    break;
  }
  if (path == "reranking" || path == "reranker") return "rerank";
  if (path == "apply-template" || path == "chat/completions/input_tokens") return "chat/completions";
  return path;
}

const protocol::FieldTable* body_of(const http::Route& route) {
  if (route.method != "POST") return nullptr;
  if (const auto* table = more_bodies(route.pattern)) return table;
  if (route.pattern.starts_with("/api/")) return nullptr;
  const auto name = table_name(route.pattern);
  const auto bodies = protocol::endpoint_bodies();
  const auto known = std::ranges::find(bodies, name, &protocol::EndpointBody::path);
  return known == bodies.end() ? nullptr : &known->table();
}

// "{name...}" is a parameter like any other there.
std::string shown_path(std::string_view pattern) {
  std::string path(pattern);
  for (auto at = path.find("...}"); at != std::string::npos; at = path.find("...}")) path.erase(at, 3);
  return path;
}

std::string operation_id(const http::Route& route) {
  std::string id = route.method;
  for (const char c : route.pattern) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain || !id.ends_with('_')) id.push_back(plain ? c : '_');
  }
  return id;
}

std::string_view tag_of(const http::Route& route) {
  const std::string_view path = route.pattern;
  if (path.starts_with("/v1/messages")) return "anthropic";
  if (path.starts_with("/api/")) return "ollama";
  if (path.starts_with("/v1/mesh")) return "mesh";
  if (path.starts_with("/v1/")) return route.needs == kInference ? "inference" : "server";
  return path.starts_with("/internal/") ? "server" : "llama-server";
}

std::string_view error_schema(std::string_view path) {
  switch (dialects::style_of_path(path)) {
    case protocol::Style::anthropic:
      return "#/components/responses/AnthropicError";
    case protocol::Style::ollama:
      return "#/components/responses/OllamaError";
    case protocol::Style::cohere:
      return "#/components/responses/CohereError";
    default:
      return "#/components/responses/Error";
  }
}

std::string needs_text(std::uint32_t needs) {
  std::string text;
  const auto add = [&](Right right, std::string_view word) {
    if ((needs & right) != 0) text.append(text.empty() ? "" : " or ").append(word);
  };
  add(kInference, "inference");
  add(kAdmin, "admin");
  add(kOwner, "admin, shown as a key");
  return text;
}

// Of POST /lora-adapters.
constexpr std::string_view kAdapterSchema =
    R"({"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"scale":{"type":"number"}}})";

// Query parameters. A route reads them with http::query_value().
struct QueryRow {
  std::string_view method, path, name, schema, what;
};
constexpr std::string_view kItemLimit = R"({"type":"integer","minimum":1,"maximum":100})",
                           kItemOrder = R"({"type":"string","enum":["asc","desc"]})",
                           kLimitText = "Maximum number of entries; default 20.",
                           kOrderText = "Oldest or newest first; default desc.",
                           kSlotText =
                               "llama-server's save, restore and erase. Slots are not persistent: erase always "
                               "succeeds, the others are rejected.",
                           kAfterText = "Entries after this one.", kBeforeText = "Entries before this one.";
constexpr auto kQueries = std::to_array<QueryRow>({
    {"GET", "/v1/models", "rescan", R"({"type":"boolean"})", "Wait for a scan of the disks."},
    {"GET", "/v1/models", "show_all", R"({"type":"boolean"})",
     "Also known models without files, and models whose download runs."},
    {"GET", "/v1/models", "limit", R"({"type":"integer","minimum":1,"maximum":1000})",
     "For Anthropic's clients: maximum number of entries."},
    {"GET", "/v1/models", "after_id", R"({"type":"string"})", "For Anthropic's clients: entries after this one."},
    {"GET", "/v1/models", "before_id", R"({"type":"string"})", "For Anthropic's clients: entries before this one."},
    {"GET", "/v1/events", "view", R"({"type":"string","enum":["changes","snapshots"]})",
     "Single changes, or a snapshot after each change."},
    {"GET", "/v1/logs", "model", R"({"type":"string"})", "Output of this model's process; default: the server's log."},
    {"GET", "/v1/logs", "lines", R"({"type":"integer","minimum":0,"maximum":1000})",
     "Maximum number of lines at the start; default 200."},
    {"GET", "/v1/logs", "follow", R"({"type":"boolean"})", "Further lines as server-sent events."},
    {"GET", "/internal/config", "describe", R"({"type":"boolean"})",
     "Also the group, meaning and valid values of each setting."},
    {"GET", "/v1/audio/voices", "model", R"({"type":"string"})",
     "Only this model; default: all models that report adapters."},
    {"GET", "/v1/pull/variants", "checkpoint", R"({"type":"string"})", "A repository of the hub: org/repo."},
    {"GET", "/v1/registry/search", "query", R"({"type":"string","minLength":1})", "Search text."},
    {"GET", "/v1/registry/search", "limit", R"({"type":"integer","minimum":1,"maximum":100})",
     "Maximum number of entries; default 20."},
    {"GET", "/v1/models", "reload", R"({"type":"string"})", "llama-server's name for it: 1."},
    {"GET", "/v1/stream", "conv_id", R"({"type":"string"})", "The value of X-Conversation-Id."},
    {"GET", "/v1/stream", "from", R"({"type":"integer","minimum":0})", "Start at this byte."},
    {"DELETE", "/v1/stream", "conv_id", R"({"type":"string"})", "The value of X-Conversation-Id."},
    {"GET", "/v1/responses/{id}", "stream", R"({"type":"boolean"})",
     "Stream its events: for a response with `background` and `stream`."},
    {"GET", "/v1/responses/{id}", "starting_after", R"({"type":"integer","minimum":0})",
     "With `stream`: events after this number."},
    {"GET", "/v1/responses/{id}/input_items", "limit", kItemLimit, kLimitText},
    {"GET", "/v1/responses/{id}/input_items", "order", kItemOrder, kOrderText},
    {"GET", "/v1/responses/{id}/input_items", "after", R"({"type":"string"})", kAfterText},
    {"GET", "/v1/responses/{id}/input_items", "before", R"({"type":"string"})", kBeforeText},
    {"GET", "/v1/conversations", "limit", kItemLimit, kLimitText},
    {"GET", "/v1/conversations", "order", kItemOrder, "Oldest or newest change first; default desc."},
    {"GET", "/v1/conversations", "after", R"({"type":"string"})", kAfterText},
    {"GET", "/v1/conversations/{id}/items", "limit", kItemLimit, kLimitText},
    {"GET", "/v1/conversations/{id}/items", "order", kItemOrder, kOrderText},
    {"GET", "/v1/conversations/{id}/items", "after", R"({"type":"string"})", kAfterText},
    {"GET", "/v1/conversations/{id}/items", "before", R"({"type":"string"})", kBeforeText},
    {"DELETE", "/models", "model", R"({"type":"string"})", "The model to delete."},
    {"GET", "/props", "model", R"({"type":"string"})", "The model; default: the one that is loaded."},
    {"POST", "/slots/{id}", "action", R"({"type":"string"})", kSlotText},
    {"POST", "/v1/slots/{id}", "action", R"({"type":"string"})", kSlotText},
    {"GET", "/lora-adapters", "model", R"({"type":"string"})", "The model; default: the one that is loaded."},
    {"POST", "/lora-adapters", "model", R"({"type":"string"})", "The model; default: the one that is loaded."},
});

// Other prefixes of a path under /v1.
bool is_another_prefix(std::string_view pattern) {
  return std::ranges::any_of(dialects::kCorePrefixes,
                             [&](auto prefix) { return prefix != "/v1/" && pattern.starts_with(prefix); });
}

class Description {
 public:
  Description(std::span<const http::Route> routes, std::string_view version) : out_(text_) {
    for (const auto& route : routes) {
      if (!is_another_prefix(route.pattern)) paths_[shown_path(route.pattern)].push_back(&route);
    }
    out_.begin_object().field("openapi", "3.1.0").key("info").begin_object().field("title", "corral");
    out_.field("version", version).field("description", kAbout).end_object();
    out_.key("security").raw(R"([{"bearer":[]},{"key":[]}])");
    out_.key("paths").begin_object();
    for (const auto& [path, all] : paths_) write_path(path, all);
    out_.end_object().key("components").begin_object();
    write_components();
    out_.end_object().end_object();
  }
  std::string take() { return std::move(text_); }

 private:
  void write_path(const std::string& path, const std::vector<const http::Route*>& all) {
    out_.any_key(path).begin_object();
    write_parameters(path);
    for (const auto* route : all) write_operation(*route);
    out_.end_object();
  }

  void write_parameters(std::string_view path) {
    if (path.find('{') == std::string_view::npos) return;
    out_.key("parameters").begin_array();
    for (auto at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
      const auto name = path.substr(at + 1, path.find('}', at) - at - 1);
      out_.begin_object().field("name", name).field("in", "path").field("required", true);
      out_.key("schema").raw(R"({"type":"string"})").end_object();
    }
    out_.end_array();
  }

  void write_operation(const http::Route& route) {
    const std::string method = to_lower(route.method);
    out_.any_key(method).begin_object().field("operationId", operation_id(route));
    out_.key("tags").begin_array().value(tag_of(route)).end_array();
    if (route.needs == 0) {
      out_.key("security").raw("[]");
    } else {
      out_.field("description", "If the server requires keys: one with the scope " + needs_text(route.needs) + ".");
    }
    write_query(route);
    if (route.method == "POST") write_body(route);
    out_.key("responses")
        .begin_object()
        .key("200")
        .raw(R"({"description":"What was asked for.","content":{"*/*":{}}})");
    out_.key("default").begin_object().field("$ref", error_schema(route.pattern)).end_object().end_object();
    out_.end_object();
  }

  void write_query(const http::Route& route) {
    const auto is_its = [&](const QueryRow& row) { return row.method == route.method && row.path == route.pattern; };
    if (std::ranges::none_of(kQueries, is_its)) return;
    out_.key("parameters").begin_array();
    for (const auto& row : kQueries | std::views::filter(is_its)) {
      out_.begin_object().field("name", row.name).field("in", "query").field("description", row.what);
      out_.key("schema").raw(row.schema).end_object();
    }
    out_.end_array();
  }

  void write_form(const protocol::EndpointForm& form) {
    out_.key("requestBody").begin_object().key("content").begin_object().any_key("multipart/form-data").begin_object();
    out_.key("schema").begin_object().field("type", "object").key("required").begin_array();
    for (const auto& field : form.fields)
      if (field.required) out_.value(field.name);
    if (form.table != nullptr)
      for (const auto& field : form.table().fields())
        if (field.required) out_.value(field.name);
    out_.end_array().key("properties").begin_object();
    for (const auto& field : form.fields) out_.any_key(field.name).raw(field.schema);
    if (form.table != nullptr) write_properties(out_, form.table());
    out_.end_object().end_object().end_object().end_object().end_object();
  }

  void write_body(const http::Route& route) {
    const auto forms = protocol::endpoint_forms();
    const auto form = std::ranges::find(forms, table_name(route.pattern), &protocol::EndpointForm::path);
    if (form != forms.end()) return write_form(*form);
    out_.key("requestBody").begin_object().key("content").begin_object().any_key("application/json").begin_object();
    out_.key("schema").begin_object();
    if (const auto* table = body_of(route)) {
      const auto& name = schemas_.try_emplace(table, operation_id(route)).first->second;
      out_.field("$ref", "#/components/schemas/" + name);
    } else if (route.pattern == "/lora-adapters") {
      out_.field("type", "array").key("items").raw(kAdapterSchema);
    } else {
      out_.field("type", "object");
    }
    out_.end_object().end_object().end_object().end_object();
  }

  void write_components() {
    out_.key("securitySchemes").begin_object();
    out_.key("bearer").raw(R"({"type":"http","scheme":"bearer"})");
    out_.key("key").raw(R"({"type":"apiKey","in":"header","name":"x-api-key"})").end_object();
    const auto error = [&](std::string_view name, std::string_view schema) {
      out_.key(name).begin_object().field("description", "Why not.").key("content").begin_object();
      out_.any_key("application/json").begin_object().key("schema").raw(schema).end_object().end_object().end_object();
    };
    out_.key("responses").begin_object();
    error("Error", R"({"type":"object","required":["error"],"properties":{"error":{"type":"object","required":)"
                   R"(["message","type","code"],"properties":{"message":{"type":"string"},"type":{"type":"string"},)"
                   R"("code":{"type":"string"},"param":{"type":["string","null"]}}}}})");
    error("AnthropicError", R"({"type":"object","required":["type","error"],"properties":{"type":{"const":"error"},)"
                            R"("error":{"type":"object","required":["type","message"],"properties":{"type":)"
                            R"({"type":"string"},"message":{"type":"string"}}}}})");
    error("CohereError", R"({"type":"object","required":["message"],"properties":{"message":{"type":"string"}}})");
    error("OllamaError", R"({"type":"object","required":["error"],"properties":{"error":{"type":"string"}}})");
    out_.end_object().key("schemas").begin_object();
    for (const auto& [table, name] : schemas_) {
      out_.any_key(name);
      write_schema(out_, *table);
    }
    out_.end_object();
  }

  std::string text_;
  json::Writer out_;
  std::map<std::string, std::vector<const http::Route*>> paths_;
  std::map<const protocol::FieldTable*, std::string> schemas_;  // referenced by bodies
};

}  // namespace

std::string openapi_description(std::span<const http::Route> routes, std::string_view version) {
  return Description(routes, version).take();
}

}  // namespace corral::api
