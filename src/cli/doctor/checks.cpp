#include "cli/doctor/checks.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/human_bytes.h"
#include "base/shell_word.h"

namespace corral::cli {
namespace {

constexpr std::uint64_t kLittleMemory = 1ull << 30;
constexpr std::uint64_t kLittleDisk = 64ull << 20;
constexpr std::uint64_t kFewFiles = 4'096;
constexpr std::size_t kMaxRefused = 10;  // lines

Check fine(std::string topic, std::string text) { return {Verdict::ok, std::move(topic), std::move(text)}; }
Check skipped(std::string topic, std::string text) { return {Verdict::skipped, std::move(topic), std::move(text)}; }
Check warning(std::string topic, std::string text, std::string todo) {
  return {Verdict::warning, std::move(topic), std::move(text), std::move(todo)};
}
Check failed(std::string topic, std::string text, std::string todo) {
  return {Verdict::failed, std::move(topic), std::move(text), std::move(todo)};
}

std::string start_command(const DoctorFacts& facts) {
  return facts.machine.service.is_installed ? "sudo systemctl enable --now corral" : "corral serve";
}

Check check_version(const DoctorFacts& facts) {
  std::string text = "corral " + facts.version;
  for (const auto& [name, version] : facts.components) text += fmt::format(", {} {}", name, version);
  if (facts.answer != ServerAnswer::full || facts.health.version == facts.version) return fine("version", text);
  return warning("version", fmt::format("{}; the server is {}", text, facts.health.version),
                 "restart the server: sudo systemctl restart corral");
}

Check check_configuration(const DoctorFacts& facts) {
  if (facts.is_file_closed) {
    auto check = skipped("configuration", fmt::format("you cannot read {} or the keys of its server", facts.file));
    check.todo = "sudo corral doctor examines the service";
    return check;
  }
  if (facts.settings_problem.empty()) return fine("configuration", facts.file);
  return failed("configuration", facts.settings_problem, fmt::format("correct {}", facts.file));
}

Check check_cpu(const MachineFacts& machine) {
  if (!machine.compute_problem.empty()) return failed("cpu", machine.compute_problem, machine.compute_remedy);
  if (machine.cpu_backend.empty()) return fine("cpu", "the compute backend is a part of the program");
  return fine("cpu", std::filesystem::path(machine.cpu_backend).filename().native());
}

Check check_devices(const MachineFacts& machine) {
  if (!machine.driver_problems.empty()) {
    return warning("devices", fmt::format("{}", fmt::join(machine.driver_problems, "; ")),
                   "look for errors of the driver (sudo dmesg), and restart the machine");
  }
  if (!machine.closed_devices.empty()) {
    return warning("devices",
                   fmt::format("user '{}' cannot open {}", machine.user, fmt::join(machine.closed_devices, ", ")),
                   fmt::format("sudo usermod -aG render,video {}, then restart the server", shell_word(machine.user)));
  }
  if (!machine.compute_problem.empty()) return skipped("devices", "unknown without compute backends");
  std::vector<std::string> gpus;
  for (const auto& device : machine.devices) {
    if (device.gpu)
      gpus.push_back(fmt::format("{} ({}), {} of {} free", device.name, device.description, human_bytes(device.free),
                                 human_bytes(device.total)));
  }
  if (!gpus.empty()) return fine("devices", fmt::format("{}", fmt::join(gpus, "; ")));
  if (machine.driver_gpus.empty()) return fine("devices", "no GPU was found: models compute on the CPU");
  return warning(
      "devices",
      fmt::format("a driver reports {}, but no compute backend uses it", fmt::join(machine.driver_gpus, ", ")),
      "install the package corral-cuda, or a Vulkan driver of the GPU");
}

Check check_memory(const MachineFacts& machine) {
  const auto& memory = machine.memory;
  if (memory.total == 0) return skipped("memory", "the memory of this machine is unknown");
  const auto text = fmt::format("{} of {} available", human_bytes(memory.available), human_bytes(memory.total));
  if (memory.available >= kLittleMemory) return fine("memory", text);
  return warning("memory", text, "end other programs, or raise the limit of the control group");
}

Check check_limits(const MachineFacts& machine) {
  const auto text = fmt::format("{} open files", machine.open_files);
  if (machine.open_files >= kFewFiles) return fine("limits", text);
  return warning("limits", text,
                 fmt::format("raise the hard limit to {} or more: ulimit -Hn, LimitNOFILE= of a service", kFewFiles));
}

Check check_folder(const MachineFacts::Folder& folder) {
  if (!folder.reason.empty()) return failed(folder.setting, folder.reason, folder.command);
  const auto text = fmt::format("{}, {} free", folder.path.native(), human_bytes(folder.free));
  if (!folder.is_written || folder.free >= kLittleDisk) return fine(folder.setting, text);
  return failed(folder.setting, text + ": the disk is full",
                fmt::format("free some space (df -h {}), or set {} to a folder on another disk",
                            shell_word(folder.path.native()), folder.setting));
}

Check check_port(const DoctorFacts& facts) {
  switch (facts.answer) {
    case ServerAnswer::full:
      return fine("port", fmt::format("a corral server responds at {}", facts.url));
    case ServerAnswer::loading:
      return fine("port", fmt::format("the server at {} loads its model", facts.url));
    case ServerAnswer::needs_key:
      return warning("port", fmt::format("the server at {} requires an API key", facts.url),
                     "set CORRAL_API_KEY to a key with the scope admin");
    case ServerAnswer::silent:
      return failed("port", fmt::format("a program at {} accepts connections, but does not respond", facts.url),
                    "sudo ss -ltnp shows it; if it is corral, restart it: sudo systemctl restart corral");
    case ServerAnswer::foreign:
      return failed("port", fmt::format("another program responds at {}", facts.url),
                    "end it (sudo ss -ltnp shows it), or set another port for corral");
    case ServerAnswer::none:
      break;
  }
  return warning("port", fmt::format("no server responds at {}", facts.url), "start one: " + start_command(facts));
}

Check check_hub(const DoctorFacts& facts) {
  if (!facts.hub)
    return skipped("hub", "only a server that downloads models can check it, for a key with the scope admin");
  if (facts.hub->empty()) return fine("hub", "models can be downloaded");
  return warning("hub", *facts.hub, "see docs/downloads.md for proxies and mirrors; models on disk work without it");
}

// The server's own view, if there is one.
void check_models(const DoctorFacts& facts, std::vector<Check>& checks) {
  const bool of_server = facts.answer == ServerAnswer::full;
  std::vector<MachineFacts::Refused> refused = facts.machine.refused;
  std::size_t found = facts.machine.models, all = refused.size();
  if (of_server) {
    refused.clear();
    for (const auto& problem : facts.health.model_problems) refused.push_back({problem.path, problem.message});
    found = static_cast<std::size_t>(std::max<std::int64_t>(facts.health.models_known, 0));
    all =
        std::max(refused.size(), static_cast<std::size_t>(std::max<std::int64_t>(facts.health.model_problem_count, 0)));
  }
  const auto text = fmt::format("{} found, {} refused", found, all);
  checks.push_back(found > 0 ? fine("models", text)
                             : warning("models", text, "download one: corral run lists models that fit this machine"));
  if (refused.size() > kMaxRefused) refused.resize(kMaxRefused);
  for (auto& [path, why] : refused) checks.push_back(warning("model", std::move(why), {}));
  if (all > refused.size())
    checks.push_back(
        warning("models", fmt::format("{} more were refused", all - refused.size()), "see the server's log"));
}

Check check_service(const ServiceState& service) {
  if (!service.has_manager) return skipped("service", "systemd does not run this machine");
  if (!service.is_installed) return skipped("service", "corral.service is not installed");
  const auto status = service.status.empty() ? std::string() : ": " + service.status;
  if (service.active == "active" && service.restarts > 0) {
    return warning("service",
                   fmt::format("corral.service was restarted {} times after failures{}", service.restarts, status),
                   "journalctl -u corral shows why");
  }
  if (service.active == "active" || service.active == "activating" || service.active == "reloading")
    return fine("service", fmt::format("corral.service is {}{}", service.active, status));
  if (service.active == "failed")
    return failed("service", fmt::format("corral.service has failed ({}){}", service.result, status),
                  "journalctl -u corral -n 20 shows why; then sudo systemctl restart corral");
  return warning("service", fmt::format("corral.service is {}", service.active), "sudo systemctl enable --now corral");
}

Check check_keys(const MachineFacts& machine) {
  if (!machine.keys_problem.empty()) return failed("keys", machine.keys_problem, "corral key list shows the keys");
  if (!machine.keys) return skipped("keys", fmt::format("only user '{}' can read them", machine.user));
  if (*machine.keys == 0) return fine("keys", "none: every program on this machine may use the server");
  return fine("keys", fmt::format("{}: every request needs one", *machine.keys));
}

void check_mesh(const DoctorFacts& facts, std::vector<Check>& checks) {
  if (facts.mesh.empty()) {
    const bool in_none = facts.answer == ServerAnswer::full && !facts.health.in_mesh;
    checks.push_back(skipped("mesh", in_none ? "this server is in no mesh"
                                             : "only a server that runs can check it, for a key with the scope admin"));
  }
  for (const auto& finding : facts.mesh) {
    const auto verdict = finding.verdict == "ok"       ? Verdict::ok
                         : finding.verdict == "failed" ? Verdict::failed
                                                       : Verdict::warning;
    const auto about = finding.node.empty() ? finding.step : fmt::format("{}: {}", finding.node, finding.step);
    checks.push_back({verdict, "mesh", fmt::format("{}: {}", about, finding.text)});
  }
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::skipped:
      return "skipped";
    case Verdict::warning:
      return "warning";
    case Verdict::failed:
      break;
  }
  return "failed";
}

std::vector<Check> check_all(const DoctorFacts& facts) {
  const auto& machine = facts.machine;
  std::vector<Check> checks{check_version(facts),   check_configuration(facts), check_cpu(machine),
                            check_devices(machine), check_memory(machine),      check_limits(machine)};
  for (const auto& folder : machine.folders) checks.push_back(check_folder(folder));
  checks.push_back(check_port(facts));
  checks.push_back(check_hub(facts));
  check_models(facts, checks);
  checks.push_back(check_service(machine.service));
  checks.push_back(check_keys(machine));
  check_mesh(facts, checks);
  return checks;
}

bool has_failed(const std::vector<Check>& checks) {
  return std::ranges::any_of(checks, [](const Check& check) { return check.verdict == Verdict::failed; });
}

}  // namespace corral::cli
