#include "cli/server/reply_parser.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/errors.h"
#include "cli/server/answer_fields.h"
#include "config/options/option.h"
#include "json/count.h"

namespace corral::cli {
namespace {

// Calls `use` with each item of an array, or with the value itself when it is one object.
void for_each(const json::Value* value, const auto& use) {
  if (!value) return;
  if (const auto* array = value->if_array()) {
    for (const json::Value& item : *array) use(item);
  } else if (value->is_object()) {
    use(*value);
  }
}

std::map<std::string, std::int64_t, std::less<>> counts_of(const json::Value& object, std::string_view name) {
  std::map<std::string, std::int64_t, std::less<>> counts;
  const auto* value = json::find(object, name);
  const auto* fields = value ? value->if_object() : nullptr;
  if (!fields) return counts;
  for (const auto& [key, count] : *fields) {
    if (count.is_number()) counts[std::string(key)] = count.to_number<std::int64_t>();
  }
  return counts;
}

// The quantization in names such as "org/repo:Q4_K_M" and "model-q8_0.gguf".
std::string quantization_in(std::string_view written) {
  std::string name = to_upper(written);
  if (name.ends_with(".GGUF")) name.resize(name.size() - 5);
  const auto start = name.find_last_of(":-./") + 1;  // npos + 1 is 0
  const std::string last = name.substr(start);
  const auto digit_at = [&](std::size_t i) {
    return i < last.size() && std::isdigit(static_cast<unsigned char>(last[i]));
  };
  const bool quantised = (last.starts_with("Q") && digit_at(1)) || (last.starts_with("IQ") && digit_at(2)) ||
                         (last.starts_with("TQ") && digit_at(2)) || last.starts_with("MXFP");
  return quantised || last == "F16" || last == "F32" || last == "BF16" ? last : std::string();
}

ListedModel listed(const json::Value& item) {
  ListedModel model;
  model.name = text_of(item, "id");
  model.alias_of = text_of(item, "alias_of");
  model.type = text_of(item, "type");
  model.recipe = text_of(item, "recipe");
  if (const auto* status = json::find(item, "status")) {
    model.state = status->is_string() ? text_of(item, "status") : text_of(*status, "value");
  }
  model.quantization = text_of(item, "quantization");
  if (model.quantization.empty()) model.quantization = quantization_in(model.name);
  if (model.quantization.empty()) model.quantization = quantization_in(text_of(item, "checkpoint"));
  // Integers are bytes; a fraction is in GB, as similar servers send it.
  model.size = bytes_of(item, "size_bytes");
  if (const auto* size = json::find(item, "size"); !model.size && size) {
    model.size = size->is_double() ? json::to_count(size->get_double() * 1e9) : bytes_of(item, "size");
  }
  model.context = integer_of(item, "context_length");
  model.max_context = integer_of(item, "max_context_length");
  bool here = false;
  for_each(json::find(item, "nodes"), [&](const json::Value& node) {
    model.nodes.push_back(text_of(node, "name"));
    here = here || flag_of(node, "self");
  });
  model.is_far = !model.nodes.empty() && !here;
  return model;
}

}  // namespace

const LoadedModel* Health::find(std::string_view name) const {
  const auto stays = [name](const LoadedModel& model) { return model.name == name && model.status != "evicting"; };
  const auto found = std::ranges::find_if(loaded, stays);
  return found == loaded.end() ? nullptr : &*found;
}

Result<std::vector<ListedModel>> parse_models(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  const auto* data = json::find(*value, "data");
  if (!data || !data->is_array()) return fail(errc::bad_answer, "the server's list of models has no field 'data'");
  std::vector<ListedModel> models;
  for_each(data, [&](const json::Value& item) { models.push_back(listed(item)); });
  return models;
}

Result<std::string> filtered_models(std::string_view text, const std::function<bool(std::string_view)>& takes) {
  auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  auto* const answer = value->if_object();
  auto* const data = answer != nullptr ? answer->if_contains("data") : nullptr;
  auto* const models = data != nullptr ? data->if_array() : nullptr;
  if (models == nullptr) return fail(errc::bad_answer, "the server's list of models has no field 'data'");
  json::Array taken;
  for (auto& model : *models) {
    if (takes(text_of(model, "id"))) taken.push_back(std::move(model));
  }
  *models = std::move(taken);
  return json::serialize(*value);
}

Result<ListedModel> parse_model(std::string_view text) { return parse_as(text, listed); }

namespace {

// The predicted memory on GPUs; 0 if the engine computes on the CPU.
std::uint64_t gpu_memory_of(const json::Value& server) {
  std::uint64_t bytes = 0;
  const auto* const memory = json::find(server, "memory");
  if (!memory || text_of(server, "device") != "gpu") return 0;
  for_each(json::find(*memory, "devices"), [&](const json::Value& device) {
    if (text_of(device, "device") == "cpu" || flag_of(device, "integrated")) return;
    bytes += bytes_of(device, "total").value_or(0);
  });
  return bytes;
}

std::vector<RemoteServedModel> served_elsewhere(const json::Value& mesh) {
  std::vector<RemoteServedModel> served;
  for_each(json::find(mesh, "nodes"), [&](const json::Value& node) {
    if (flag_of(node, "self") || !flag_of(node, "routable")) return;
    for_each(json::find(node, "serving"), [&](const json::Value& item) {
      served.push_back({.node = text_of(node, "name"),
                        .model = text_of(item, "model"),
                        .state = text_of(item, "state"),
                        .running = integer_of(item, "running").value_or(0),
                        .memory = bytes_of(item, "memory_bytes")});
    });
  });
  return served;
}

Health health_in(const json::Value& value) {
  Health health;
  health.version = text_of(value, "version");
  const auto in_memory = [&](const json::Value& item) {
    health.loaded.push_back({.name = text_of(item, "model_name"),
                             .type = text_of(item, "type"),
                             .device = text_of(item, "device"),
                             .status = text_of(item, "status"),
                             .leaving = text_of(item, "leaving"),
                             .memory = bytes_of(item, "memory_bytes"),
                             .gpu_memory = gpu_memory_of(item),
                             .context = integer_of(item, "max_context_window"),
                             .max_context = integer_of(item, "max_context_length"),
                             .last_use = integer_of(item, "last_use").value_or(0),
                             .active_requests = integer_of(item, "active_requests").value_or(0),
                             .pinned = flag_of(item, "pinned"),
                             .lent = flag_of(item, "lent")});
  };
  for (const char* list : {"all_models_loaded", "stopping"}) for_each(json::find(value, list), in_memory);
  if (const auto* files = json::find(value, "files")) {
    for_each(json::find(*files, "changed"), [&](const json::Value& item) {
      for (auto& model : health.loaded) model.file_changed |= model.name == text_of(item, "model");
    });
  }
  if (auto problem = text_of(value, "configuration_problem"); !problem.empty())
    health.problems.push_back(std::move(problem));
  for_each(json::find(value, "backend_problems"), [&](const json::Value& item) {
    if (const auto* text = item.if_string()) health.problems.emplace_back(text->data(), text->size());
  });
  health.models_known = integer_of(value, "models_known").value_or(0);
  health.model_problem_count = integer_of(value, "model_problem_count").value_or(0);
  for_each(json::find(value, "model_problems"), [&](const json::Value& item) {
    health.model_problems.push_back({.path = text_of(item, "path"), .message = text_of(item, "message")});
  });
  for_each(json::find(value, "loading"), [&](const json::Value& item) {
    health.loading.push_back({text_of(item, "model"), text_of(item, "type"), number_of(item, "progress").value_or(0)});
  });
  for_each(json::find(value, "load_queue"), [&](const json::Value& item) {
    health.queue.push_back({.name = text_of(item, "model"),
                            .type = text_of(item, "type"),
                            .position = integer_of(item, "position").value_or(0),
                            .waiting_ms = integer_of(item, "waiting_ms").value_or(0),
                            .waiters = integer_of(item, "waiters").value_or(0),
                            .waiting_for = names_of(item, "waiting_for")});
  });
  for_each(json::find(value, "shares"), [&](const json::Value& item) {
    health.shares.push_back({.model = text_of(item, "model"),
                             .host = text_of(item, "host"),
                             .device = text_of(item, "device"),
                             .leaving = text_of(item, "leaving"),
                             .memory = bytes_of(item, "booked_bytes")});
  });
  health.max_models = counts_of(value, "max_models");
  health.pinned_models = counts_of(value, "pinned_models");
  const auto* const mesh = json::find(value, "mesh");
  health.in_mesh = mesh != nullptr;
  if (mesh != nullptr) health.elsewhere = served_elsewhere(*mesh);
  return health;
}

}  // namespace

Result<Health> parse_health(std::string_view text) { return parse_as(text, health_in); }

Result<ServerEvent> parse_house_event(std::string_view name, std::string_view data) {
  return parse_as(data, [&](const json::Value& value) {
    return ServerEvent{.name = std::string(name),
                       .time = integer_of(value, "time").value_or(0),
                       .model = text_of(value, "model"),
                       .stage = text_of(value, "stage"),
                       .from = text_of(value, "from"),
                       .status = text_of(value, "status"),
                       .reason = text_of(value, "reason"),
                       .cause = text_of(value, "cause"),
                       .progress = number_of(value, "progress").value_or(0),
                       .load_duration_ms = integer_of(value, "load_duration_ms").value_or(0),
                       .active_requests = integer_of(value, "active_requests").value_or(0),
                       .pinned = flag_of(value, "pinned"),
                       .change = text_of(value, "change"),
                       .node = text_of(value, "node"),
                       .health = health_in(value)};
  });
}

std::string event_line(std::string_view name, std::string_view data) {
  return fmt::format(R"({{"event":{},"data":{}}})", json::serialize(json::Value(name)), data);
}

Result<Stats> parse_stats(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    const auto count = [&](std::string_view name) { return integer_of(value, name).value_or(0); };
    Stats stats;
    stats.last = {.model = text_of(value, "model_name"),
                  .prompt_tokens = count("prompt_tokens"),
                  .cached_tokens = count("cache_tokens"),
                  .output_tokens = count("output_tokens"),
                  .first_token_seconds = number_of(value, "time_to_first_token").value_or(0),
                  .tokens_per_second = number_of(value, "tokens_per_second").value_or(0)};
    stats.requests = count("request_count_total");
    stats.prompt_tokens = count("prompt_tokens_total");
    stats.cached_tokens = count("cache_tokens_total");
    stats.output_tokens = count("output_tokens_total");
    return stats;
  });
}

Result<LoadProgress> parse_load_progress(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    const double progress = number_of(value, "progress").value_or(0);
    return LoadProgress{std::clamp(progress, 0.0, 1.0), text_of(value, "stage")};
  });
}

Result<LoadOutcome> parse_load_outcome(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    return LoadOutcome{.context = integer_of(value, "context_length"),
                       .max_context = integer_of(value, "max_context_length"),
                       .warnings = names_of(value, "warnings"),
                       .already_loaded = flag_of(value, "already_loaded")};
  });
}

Result<EstimatedMemory> parse_estimate(std::string_view text) {
  return parse_as(text, [](const json::Value& answer) {
    EstimatedMemory memory;
    const auto* const from = json::find(answer, "memory");
    if (!from) return memory;
    for_each(json::find(*from, "devices"), [&](const json::Value& device) {
      memory.devices.push_back({text_of(device, "device"), bytes_of(device, "weights").value_or(0),
                                bytes_of(device, "kv").value_or(0), bytes_of(device, "compute").value_or(0),
                                bytes_of(device, "total").value_or(0)});
    });
    memory.process = bytes_of(*from, "process").value_or(0);
    memory.mapped = bytes_of(*from, "mapped").value_or(0);
    memory.resident = bytes_of(*from, "resident").value_or(0);
    memory.total = bytes_of(*from, "total").value_or(0);
    return memory;
  });
}

Result<Unloaded> parse_unloaded(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    return Unloaded{text_of(value, "message"), names_of(value, "unloaded"), names_of(value, "draining")};
  });
}

std::optional<std::string> error_in(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::nullopt;
  const auto* error = json::find(*value, "error");
  if (!error || error->is_null()) return std::nullopt;
  if (error->is_string()) return text_of(*value, "error");
  std::string message = text_of(*error, "message");
  return message.empty() ? json::serialize(*error) : message;
}

std::string error_code_in(std::string_view text) {
  const auto value = parse_answer(text);
  const auto* error = value ? json::find(*value, "error") : nullptr;
  return error != nullptr ? text_of(*error, "code") : std::string();
}

namespace {

// A value in the form in which the user sets `key`: a text without quotation marks, a list with what separates its
// items.
std::string plain(const json::Value* value, std::string_view key) {
  if (!value || value->is_null()) return {};
  if (const auto* text = value->if_string()) return std::string(*text);
  if (const auto* number = value->if_double()) return fmt::format("{}", *number);
  const auto* array = value->if_array();
  if (!array) return json::serialize(*value);
  std::vector<std::string> items;
  for (const json::Value& item : *array) items.push_back(plain(&item, key));
  const auto* const option = config::find_option(key);
  if (option != nullptr && !config::is_list(*option)) return config::joined(*option, items);
  return fmt::format("{}", fmt::join(items, ":"));
}

// Calls `use` with each member of the object of that name.
void for_each_member(const json::Value& object, std::string_view name, const auto& use) {
  const auto* found = json::find(object, name);
  const auto* members = found ? found->if_object() : nullptr;
  if (!members) return;
  for (const auto& [key, value] : *members) use(std::string(key), value);
}

}  // namespace

const Setting* Settings::find(std::string_view key) const {
  const auto row = std::ranges::find(rows, key, &Setting::key);
  return row == rows.end() ? nullptr : &*row;
}

Result<Settings> parse_settings(std::string_view text) {
  return parse_as(text, [](const json::Value& answer) {
    Settings settings{{}, text_of(answer, "problem"), text_of(answer, "file")};
    for_each_member(answer, "settings", [&](const std::string& key, const json::Value& row) {
      settings.rows.push_back({.key = key,
                               .value = plain(json::find(row, "value"), key),
                               .where = text_of(row, "where"),
                               .source = text_of(row, "source"),
                               .after_restart = plain(json::find(row, "after_restart"), key)});
    });
    return settings;
  });
}

std::string setting_object(std::string_view text, std::string_view key) {
  json::Object object;
  const auto answer = parse_answer(text);
  const auto* settings = answer ? json::find(*answer, "settings") : nullptr;
  const auto* row = settings != nullptr ? json::find(*settings, key) : nullptr;
  if (row != nullptr) object[key] = *row;
  return json::serialize(object);
}

Result<std::vector<UpdatedSetting>> parse_updated_settings(std::string_view text) {
  return parse_as(text, [](const json::Value& answer) {
    std::vector<UpdatedSetting> rows;
    for_each_member(answer, "updated", [&](const std::string& key, const json::Value& value) {
      const auto* applies = json::find(answer, "applies");
      auto when = applies ? text_of(*applies, key) : std::string();
      rows.push_back({key, plain(&value, key), std::move(when)});
    });
    return rows;
  });
}

std::string set_body(const std::vector<std::pair<std::string, std::string>>& values) {
  json::Object body;
  for (const auto& [key, text] : values) body[key] = json::parse(text).value_or(json::Value(text));
  return json::serialize(body);
}

std::string load_body(const LoadRequest& options, bool stream) {
  json::Object body{{"model_name", options.model}};
  for (const auto& option : config::load_options()) {
    if (config::is_set(option, options.values)) body[option.key] = config::to_json(option, options.values);
  }
  if (options.pinned) body["pinned"] = *options.pinned;
  if (options.save) body["save_options"] = true;
  if (!options.split.empty()) body["split"] = json::Array(options.split.begin(), options.split.end());
  if (stream) body["stream"] = true;
  return json::serialize(body);
}

std::string pin_body(const std::string& model, bool pinned) {
  return json::serialize(json::Object{{"model_name", model}, {"pinned", pinned}});
}

std::string unload_body(const std::string& model) {
  return model.empty() ? "{}" : json::serialize(json::Object{{"model_name", model}});
}

namespace {

json::Value part_of(const Attachment& file) {
  constexpr std::string_view kSound = "audio/";
  if (!file.type.starts_with(kSound)) {
    const json::Object url{{"url", fmt::format("data:{};base64,{}", file.type, file.base64)}};
    return json::Object{{"type", "image_url"}, {"image_url", url}};
  }
  const json::Object sound{{"data", file.base64}, {"format", file.type.substr(kSound.size())}};
  return json::Object{{"type", "input_audio"}, {"input_audio", sound}};
}

json::Value content_of(const ChatMessage& message) {
  if (message.attachments.empty()) return json::Value(message.content);
  json::Array parts;
  for (const Attachment& file : message.attachments) parts.push_back(part_of(file));
  parts.push_back(json::Object{{"type", "text"}, {"text", message.content}});
  return parts;
}

}  // namespace

std::string chat_body(const ChatOptions& options, const std::vector<ChatMessage>& messages, bool stream) {
  json::Array list;
  for (const ChatMessage& message : messages) {
    list.push_back(json::Object{{"role", message.role}, {"content", content_of(message)}});
  }
  json::Object body{{"model", options.model}, {"messages", std::move(list)}, {"stream", stream}};
  for (const auto& [name, text] : options.fields) body[name] = json::parse(text).value_or(json::Value(text));
  return json::serialize(body);
}

std::string error_object(const Error& error) {
  const auto* const server = error.fact<ServerCode>();
  const auto code = server != nullptr ? server->code : error.code.message();
  return json::serialize(json::Object{{"error", json::Object{{"message", error.message}, {"code", code}}}});
}

std::string text_object(const std::vector<std::pair<std::string, std::string>>& fields) {
  json::Object object;
  for (const auto& [name, value] : fields) object[name] = value;
  return json::serialize(object);
}

}  // namespace corral::cli
