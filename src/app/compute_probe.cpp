#include "app/compute_probe.h"

#include <fmt/format.h>

#include "json/value.h"
#include "json/writer.h"

namespace corral::app {

using async::Task;

namespace {

// The first use of a GPU wakes it up, which takes seconds for each one.
constexpr Millis kLimit{30'000};

Task<proc::ExitStatus> end_of(proc::Child& child) { co_return co_await child.wait(); }

std::uint64_t bytes_of(const json::Value& object, std::string_view name) {
  const auto number = json::number_or(object, name, 0);
  return number > 0 ? static_cast<std::uint64_t>(number) : 0;
}

}  // namespace

std::vector<std::string> compute_lines(const cli::MachineFacts& facts) {
  std::vector<std::string> lines;
  const auto add = [&lines](auto&& write) {
    std::string text;
    json::Writer out(text);
    out.begin_object();
    write(out);
    out.end_object();
    lines.push_back(std::move(text));
  };
  if (!facts.compute_problem.empty()) add([&](auto& out) { out.field("problem", facts.compute_problem); });
  if (!facts.cpu_backend.empty()) add([&](auto& out) { out.field("cpu_backend", facts.cpu_backend); });
  for (const auto& device : facts.devices) {
    add([&](auto& out) {
      out.field("name", device.name).field("description", device.description).field("gpu", device.gpu);
      out.field("total", device.total).field("free", device.free);
    });
  }
  return lines;
}

void read_compute_line(std::string_view line, cli::MachineFacts& facts) {
  const auto value = json::parse(line);
  if (!value) return;
  if (const auto problem = json::text_or(*value, "problem", ""); !problem.empty()) facts.compute_problem = problem;
  if (const auto file = json::text_or(*value, "cpu_backend", ""); !file.empty()) facts.cpu_backend = file;
  const auto name = json::text_or(*value, "name", "");
  if (name.empty()) return;
  facts.devices.push_back({.name = std::string(name),
                           .description = std::string(json::text_or(*value, "description", "")),
                           .gpu = json::bool_or(*value, "gpu", false),
                           .total = bytes_of(*value, "total"),
                           .free = bytes_of(*value, "free")});
}

Task<void> probe_compute(ComputeProbe probe, cli::MachineFacts& facts) {
  proc::ChildSpec spec{.name = "list devices", .argv = {probe.program.native(), "list-devices"}, .binds_itself = true};
  spec.on_line = [&facts](const proc::LogLine& line) {
    if (!line.from_stderr) read_compute_line(line.text, facts);
  };
  auto child = co_await probe.spawner.spawn(std::move(spec));
  if (!child) {
    facts.compute_problem = child.error().message;
    facts.compute_remedy = "install corral again";
    co_return;
  }
  auto ending = end_of(**child);
  const auto end = co_await async::with_timeout(probe.timers, kLimit, std::move(ending));
  // The child's on_line callback refers to `facts`.
  child->reset();
  if (end && end->success()) {
    if (!facts.compute_problem.empty()) facts.compute_remedy = "install corral again, or set CORRAL_LLAMA_BACKEND_DIR";
    co_return;
  }
  facts.compute_problem =
      end ? fmt::format("the process that loads the compute backends {}", end->describe())
          : fmt::format("the compute backends gave no answer within {} s: the library of a GPU hangs",
                        kLimit.count() / 1000);
  facts.compute_remedy = "look for errors of a GPU's driver (sudo dmesg), and restart the machine";
}

}  // namespace corral::app
