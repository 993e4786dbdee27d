#include "remote/worker_protocol.h"

#include <fmt/format.h>

#include "engine/values/errors.h"
#include "json/count.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::remote {
namespace {

// A missing value is 0.
Result<std::uint64_t> bytes(const json::Value& from, std::string_view name) {
  const double value = json::number_or(from, name, 0);
  const auto count = json::to_count(value);
  if (count) return *count;
  return fail(engine::errc::invalid_argument,
              fmt::format("invalid '{}' of a device in a worker's message: {}", name, value), std::string(name));
}

void write(json::Writer& out, const WorkerReady& ready) {
  out.field("llama", ready.llama).key("devices").begin_array();
  for (const auto& device : ready.devices) {
    out.begin_object().field("name", device.name).field("description", device.description).field("gpu", device.gpu);
    out.field("memory_total", device.memory_total).field("memory_free", device.memory_free).end_object();
  }
  out.end_array().key("open").begin_array();
  for (const auto& why : ready.open) out.value(why);
  out.end_array();
}

Result<WorkerReady> read_ready(const json::Value& from) {
  WorkerReady ready{.llama = std::string(json::text_or(from, "llama", ""))};
  if (const auto* devices = json::find(from, "devices"); devices != nullptr && devices->is_array()) {
    for (const auto& device : devices->get_array()) {
      const auto total = bytes(device, "memory_total"), free = bytes(device, "memory_free");
      if (!total || !free) return std::unexpected(total ? free.error() : total.error());
      ready.devices.push_back({.name = std::string(json::text_or(device, "name", "")),
                               .description = std::string(json::text_or(device, "description", "")),
                               .gpu = json::bool_or(device, "gpu", false),
                               .memory_total = *total,
                               .memory_free = *free});
    }
  }
  if (const auto* open = json::find(from, "open"); open != nullptr && open->is_array()) {
    for (const auto& why : open->get_array())
      if (why.is_string()) ready.open.emplace_back(std::string_view(why.get_string()));
  }
  return ready;
}

}  // namespace

std::string to_line(const WorkerEvent& event) {
  std::string line;
  json::Writer out(line);
  out.begin_object();
  if (const auto* ready = std::get_if<WorkerReady>(&event)) {
    out.key("ready").begin_object();
    write(out, *ready);
  } else {
    out.key("failed").begin_object().field("message", std::get<WorkerFailed>(event).message);
  }
  out.end_object().end_object();
  return line;
}

Result<WorkerEvent> parse_worker_event(std::string_view line) {
  const auto parsed = json::parse(line);
  if (!parsed) return std::unexpected(parsed.error());
  if (const auto* ready = json::find(*parsed, "ready")) return read_ready(*ready);
  if (const auto* failed = json::find(*parsed, "failed"))
    return WorkerFailed{std::string(json::text_or(*failed, "message", "no reason given"))};
  return fail(engine::errc::invalid_argument, "a worker's message has neither `ready` nor `failed`");
}

}  // namespace corral::remote
