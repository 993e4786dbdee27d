#include "backends/engine_protocol.h"

#include <algorithm>
#include <array>

namespace corral::backends {
namespace {

// Errors that an engine process may report, with their names on the control channel.
struct Cause {
  std::string_view word;
  errc cause;
};
constexpr std::array kCauses = {
    Cause{"load_failed", errc::load_failed},       Cause{"out_of_memory", errc::load_out_of_memory},
    Cause{"never_fits", errc::load_never_fits},    Cause{"file_not_found", errc::model_file_not_found},
    Cause{"invalid_option", errc::invalid_option}, Cause{"backend_not_installed", errc::backend_not_installed}};

std::string_view word_of(errc cause) {
  for (const auto& row : kCauses) {
    if (row.cause == cause) return row.word;
  }
  return kCauses[0].word;
}

errc cause_of(std::string_view word) {
  for (const auto& row : kCauses) {
    if (row.word == word) return row.cause;
  }
  return errc::load_failed;
}

// As "NAME", or as the array "NAME_bytes" of numbers if the file name is not UTF-8, which JSON can't hold.
void write_path(json::Writer& out, const std::string& name, const std::string& path) {
  if (json::is_utf8(path)) {
    out.field(name, path);
    return;
  }
  out.key(name + "_bytes").begin_array();
  for (const char byte : path) out.value(std::int64_t{static_cast<unsigned char>(byte)});
  out.end_array();
}

std::string read_path(const json::Value& from, const std::string& name) {
  std::string path(json::text_or(from, name, ""));
  const auto* const bytes = json::find(from, name + "_bytes");
  if (!bytes || !bytes->is_array()) return path;
  for (const auto& byte : bytes->get_array()) {
    if (byte.is_int64()) path.push_back(static_cast<char>(byte.get_int64()));
  }
  return path;
}

// Empty if it is missing, not a number, or not whole.
std::optional<std::int64_t> integer(const json::Value& from, std::string_view name) {
  const auto* found = json::find(from, name);
  return found && found->is_int64() ? std::optional(found->get_int64()) : std::nullopt;
}

// In the order of EngineRequest::State.
constexpr auto kRequestStates = std::to_array<std::string_view>({"read", "prepared", "ended"});

bool is_true(const json::Value& from, std::string_view name) {
  const auto* const value = json::find(from, name);
  return value && value->is_bool() && value->get_bool();
}

std::uint64_t count(const json::Value& from, std::string_view name) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(integer(from, name).value_or(0), 0));
}

// The objects of an array, none for anything else.
template <typename Visit>
void each_of(const json::Value& from, std::string_view name, Visit visit) {
  const auto* const found = json::find(from, name);
  if (!found || !found->is_array()) return;
  for (const auto& item : found->get_array()) visit(item);
}

void write_failed(json::Writer& out, const EngineFailed& failed) {
  out.begin_object().field("cause", word_of(failed.cause)).field("message", failed.message);
  if (!failed.param.empty()) out.field("param", failed.param);
  if (!failed.memory.empty()) {
    out.key("memory").begin_array();
    for (const auto& need : failed.memory)
      out.begin_object().field("device", need.device).field("need", need.need).field("have", need.have).end_object();
    out.end_array();
  }
  out.end_object();
}

EngineFailed read_failed(const json::Value& from) {
  EngineFailed failed{cause_of(json::text_or(from, "cause", "")), std::string(json::text_or(from, "message", "")),
                      std::string(json::text_or(from, "param", ""))};
  each_of(from, "memory", [&](const json::Value& need) {
    failed.memory.push_back({std::string(json::text_or(need, "device", "")), count(need, "need"), count(need, "have")});
  });
  return failed;
}

}  // namespace

Error EngineFailed::error() const {
  Error error(make_error_code(cause), message, param);
  error.memory = memory;
  return error;
}

void write(json::Writer& out, const MemoryEstimate& estimate) {
  out.begin_object().key("devices").begin_array();
  for (const auto& device : estimate.devices) {
    out.begin_object().field("device", device.device).field("weights", device.weights).field("kv", device.kv);
    out.field("compute", device.compute).field("total", device.total()).field("have", device.have);
    if (!device.pci.empty()) out.field("pci", device.pci);
    if (device.integrated) out.field("integrated", true);
    out.end_object();
  }
  out.end_array().field("process", estimate.process).field("mapped", estimate.mapped);
  out.field("in_place", estimate.in_place).field("total", estimate.total()).field("resident", estimate.resident());
  out.end_object();
}

MemoryEstimate read_memory_estimate(const json::Value& from) {
  MemoryEstimate estimate;
  each_of(from, "devices", [&](const json::Value& device) {
    estimate.devices.push_back({std::string(json::text_or(device, "device", "")), count(device, "weights"),
                                count(device, "kv"), count(device, "compute"), count(device, "have"),
                                std::string(json::text_or(device, "pci", "")),
                                json::bool_or(device, "integrated", false)});
  });
  estimate.process = count(from, "process");
  estimate.mapped = count(from, "mapped");
  estimate.in_place = count(from, "in_place");
  return estimate;
}

std::string to_line(const EngineLoad& load) {
  std::string line;
  json::Writer out(line);
  out.begin_object().key("load").begin_object();
  out.field("model", load.model);
  write_path(out, "path", load.path);
  out.field("type", name_of(load.type));
  config::write_members(out, load.options, config::Members::of_the_process);
  if (load.without_weights) out.field("without_weights", true);
  // Under names of their own: there are load options with those of llama-server.
  if (!load.mmproj.empty()) write_path(out, "projector", load.mmproj);
  if (!load.mmproj_offload) out.field("projector_offload", false);
  if (!load.remotes.empty()) {
    out.field("own_share", load.own_share).key("remotes").begin_array();
    for (const auto& part : load.remotes) {
      out.begin_object().field("name", part.name).field("endpoint", part.endpoint);
      out.field("share", part.share).end_object();
    }
    out.end_array();
  }
  out.end_object().end_object();
  return line;
}

std::string to_line(const EngineEvent& event) {
  std::string line;
  json::Writer out(line);
  out.begin_object();
  if (const auto* progress = std::get_if<EngineProgress>(&event)) {
    out.field("progress", progress->fraction);
  } else if (const auto* ready = std::get_if<EngineReady>(&event)) {
    out.key("ready").begin_object().field("context_window", ready->context_window);
    if (!ready->cpu_backend.empty()) out.field("cpu_backend", ready->cpu_backend);
    if (ready->device != Device::none) out.field("device", name_of(ready->device));
    if (ready->sends_requests) out.field("tells_requests", true);
    out.end_object();
  } else if (const auto* failed = std::get_if<EngineFailed>(&event)) {
    write_failed(out.key("failed"), *failed);
  } else if (const auto* downsized = std::get_if<EngineDownsized>(&event)) {
    out.key("downsized").begin_object().field("done", downsized->done).field("sessions", downsized->sessions);
    out.field("parked_bytes", downsized->parked_bytes).end_object();
  } else if (const auto* estimate = std::get_if<MemoryEstimate>(&event)) {
    write(out.key("estimate"), *estimate);
  } else if (const auto* request = std::get_if<EngineRequest>(&event)) {
    out.key("request").begin_object().field("id", request->id);
    out.field("state", kRequestStates[static_cast<std::size_t>(request->state)]).end_object();
  } else if (const auto* stats = std::get_if<RequestStats>(&event)) {
    out.key("request_done").begin_object();
    out.field("input", stats->input_tokens).field("output", stats->output_tokens).field("cached", stats->cached_tokens);
    out.field("ttft", stats->time_to_first_token).field("rate", stats->tokens_per_second).end_object();
  }
  out.end_object();
  return line;
}

std::string downsize_line() { return R"({"downsize":{}})"; }

bool is_downsize(std::string_view line) {
  const auto parsed = json::parse(line);
  return parsed && json::find(*parsed, "downsize") != nullptr;
}

Result<EngineLoad> parse_engine_load(std::string_view line) {
  const auto parsed = json::parse(line);
  if (!parsed) return std::unexpected(parsed.error());
  const auto* body = json::find(*parsed, "load");
  if (!body) return fail(errc::load_failed, "the first line on the control channel is not a load order");
  EngineLoad load;
  load.model = json::text_or(*body, "model", "");
  load.path = read_path(*body, "path");
  load.type = parse_model_type(json::text_or(*body, "type", "llm")).value_or(ModelType::llm);
  load.options = config::read_load_options(*body);
  each_of(*body, "remotes", [&](const json::Value& part) {
    load.remotes.push_back({std::string(json::text_or(part, "name", "")),
                            std::string(json::text_or(part, "endpoint", "")), json::number_or(part, "share", 0)});
  });
  load.own_share = json::number_or(*body, "own_share", 0);
  load.without_weights = json::bool_or(*body, "without_weights", false);
  load.mmproj = read_path(*body, "projector");
  load.mmproj_offload = json::bool_or(*body, "projector_offload", true);
  return load;
}

Result<EngineEvent> parse_engine_event(std::string_view line) {
  const auto parsed = json::parse(line);
  if (!parsed) return std::unexpected(parsed.error());
  if (json::find(*parsed, "progress"))
    return EngineProgress{std::clamp(json::number_or(*parsed, "progress", 0), 0.0, 1.0)};
  if (const auto* ready = json::find(*parsed, "ready"))
    return EngineReady{count(*ready, "context_window"), std::string(json::text_or(*ready, "cpu_backend", "")),
                       parse_device(json::text_or(*ready, "device", "")).value_or(Device::none),
                       is_true(*ready, "tells_requests")};
  if (const auto* failed = json::find(*parsed, "failed")) return read_failed(*failed);
  if (const auto* downsized = json::find(*parsed, "downsized")) {
    return EngineDownsized{is_true(*downsized, "done"), count(*downsized, "sessions"),
                           count(*downsized, "parked_bytes")};
  }
  if (const auto* estimate = json::find(*parsed, "estimate")) return read_memory_estimate(*estimate);
  if (const auto* done = json::find(*parsed, "request_done")) {
    return RequestStats{count(*done, "input"), count(*done, "output"), count(*done, "cached"),
                        json::number_or(*done, "ttft", 0), json::number_or(*done, "rate", 0)};
  }
  if (const auto* request = json::find(*parsed, "request")) {
    const auto state = std::ranges::find(kRequestStates, json::text_or(*request, "state", ""));
    if (state != kRequestStates.end()) {
      return EngineRequest{std::string(json::text_or(*request, "id", "")),
                           static_cast<EngineRequest::State>(state - kRequestStates.begin())};
    }
  }
  return fail(errc::load_failed, "unknown line on the control channel: " + std::string(line.substr(0, 80)));
}

}  // namespace corral::backends
