#include "fleet/announce/own_node_state.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "fleet/announce/split_facts.h"
#include "mesh/link/link.h"
#include "residency/instance_state.h"

namespace corral::fleet {
namespace {

constexpr std::uint64_t kStep = 64ull << 20;      // of memory and disk, as announced
constexpr std::uint64_t kSmallStep = 1ull << 20;  // of a model's memory
constexpr Millis kQuiet{60'000};                  // models idle for this long count as evictable

std::uint64_t in_steps(std::uint64_t bytes) { return bytes / kStep * kStep; }

std::uint64_t up_in_steps(std::uint64_t bytes) { return (bytes + kSmallStep - 1) / kSmallStep * kSmallStep; }

// Two digits are enough for node selection.
double rounded(double rate) {
  if (!(rate > 0)) return 0;
  const double unit = std::pow(10, std::floor(std::log10(rate)) - 1);
  return std::round(rate / unit) * unit;
}

bool is_gpu(const device::MemoryPool& pool) { return pool.kind == device::PoolKind::gpu; }

std::vector<mesh::MemoryReport> memory_of(const NodeOptions& options, const MachineFacts& facts) {
  std::uint64_t evictable = 0;
  bool gpu = false;
  for (const auto& pool : facts.memory) gpu = gpu || is_gpu(pool);
  for (const auto& instance : facts.report.instances) {
    const bool may_go = !instance.view.pinned && instance.view.leases == 0 && instance.view.idle >= kQuiet;
    if (may_go && residency::is_resident(instance.view.state)) evictable += instance.facts.memory_bytes;
  }
  std::vector<mesh::MemoryReport> reports;
  for (const auto& pool : facts.memory) {
    if (pool.kind == device::PoolKind::shared) continue;
    mesh::MemoryReport report{.name = pool.id, .gpu = is_gpu(pool), .total = pool.total};
    report.free = in_steps(pool.available);
    // Only the host memory of processes is known, which says nothing about GPU memory.
    if (!gpu) report.evictable = in_steps(evictable);
    const double share = options.role == mesh::Role::client ? 0 : options.lend_memory;
    report.lent = in_steps(static_cast<std::uint64_t>(static_cast<double>(pool.total) * share));
    reports.push_back(std::move(report));
  }
  return reports;
}

mesh::ModelOnDisk on_disk(const models::ModelInfo& model, const NodeOptions& options, const MachineFacts& facts,
                          Device device) {
  mesh::ModelOnDisk report;
  report.name = model.name.value();
  for (const auto& alias : model.aliases) report.aliases.push_back(alias.value());
  report.type = model.type;
  report.recipe = model.recipe;
  // Paths of this machine are private.
  if (!model.checkpoint.starts_with('/')) report.checkpoint = model.checkpoint;
  const auto known = facts.contexts.find(model.name);
  const auto projector = known == facts.contexts.end() ? router::Projector::own : known->second.projector;
  report.labels = router::labels_with(model, projector);
  report.architecture = model.traits.architecture;
  report.quantisation = model.traits.quantisation;
  report.parameters = model.traits.parameters.value_or(0);
  report.bytes = model.size.value();
  if (const auto hash = facts.contents.find(model.name); hash != facts.contents.end()) report.hash = hash->second;
  report.created = static_cast<std::uint64_t>(std::max<std::int64_t>(epoch_millis(model.created) / 1000, 0));
  report.context_trained = model.traits.context_length;
  if (known != facts.contexts.end()) {
    report.context_usable = known->second.usable;
    report.predicted = up_in_steps(known->second.memory);
    const auto split = split_facts(model, known->second);
    report.layers = split.layers;
    report.layer_bytes = split.layer_bytes;
    report.cache_bytes = split.cache_bytes;
    report.ends_bytes = split.ends_bytes;
    report.compute_bytes = split.compute_bytes;
    report.split_context = split.context;
    report.max_context = split.max_context;
  }
  if (const auto rate = facts.rates.find(model.name); rate != facts.rates.end())
    report.tokens_per_second = rounded(rate->second);
  report.device = device;
  report.tools = model.traits.tools;
  report.thinking = model.traits.thinking;
  report.vision = router::media_of(model, projector).pictures;
  report.may_copy = options.copies && !model.paths.empty();
  return report;
}

std::optional<mesh::ServingState> state_of(residency::InstanceState state) {
  using residency::InstanceState;
  switch (state) {
    case InstanceState::loading:
      return mesh::ServingState::loading;
    case InstanceState::draining:
      return mesh::ServingState::draining;
    case InstanceState::queued:
    case InstanceState::evicting:
    case InstanceState::gone:
    case InstanceState::failed:
      return std::nullopt;
    default:
      return mesh::ServingState::ready;
  }
}

std::vector<mesh::ServedModel> serving(const NodeOptions& options, const MachineFacts& facts) {
  std::vector<mesh::ServedModel> served;
  for (const auto& instance : facts.report.instances) {
    const auto state = state_of(instance.view.state);
    if (!state || (instance.model != nullptr && instance.model->installed)) continue;
    mesh::ServedModel model;
    model.name = instance.view.spec->name.value();
    model.state = *state;
    model.context = instance.facts.context_window;
    model.slots = static_cast<std::uint32_t>(std::max<std::int64_t>(instance.options.parallel.value_or(0), 0));
    model.running = static_cast<std::uint32_t>(instance.view.leases);
    model.idle_ms = idle_steps(instance.view.idle, options.idle_unload);
    model.bytes = in_steps(instance.facts.memory_bytes);
    model.lent = instance.view.lent;
    if (const auto rate = facts.rates.find(instance.view.spec->name); rate != facts.rates.end())
      model.tokens_per_second = rounded(rate->second);
    served.push_back(std::move(model));
  }
  // A loading instance is in the report's instances only after its load.
  if (const auto& loading = facts.report.snapshot.loading; loading && !loading->aborting) {
    const auto& name = loading->spec->name.value();
    const bool there = std::ranges::any_of(served, [&](const auto& model) { return model.name == name; });
    if (!there) {
      mesh::ServedModel model;
      model.name = name;
      model.state = mesh::ServingState::loading;
      model.waiting = static_cast<std::uint32_t>(loading->waiters);
      model.lent = loading->lent;
      served.push_back(std::move(model));
    }
  }
  return served;
}

// Models that this node's settings want (mesh_models). A pin concerns only this machine's memory and is no want:
// otherwise the mesh would load what the owner has just unloaded.
std::vector<mesh::WantedModel> wants_of(const NodeOptions& options, const std::vector<mesh::ModelOnDisk>& own) {
  auto wants = options.wants;
  const bool every = std::erase_if(wants, [](const auto& wanted) { return wanted.name == kEveryModel; }) > 0;
  const auto named = wants;
  for (const auto& model : own) {
    if (!every || wants.size() >= mesh::kNodeStateLimits.wants) break;
    if (std::ranges::find(named, model.name, &mesh::WantedModel::name) == named.end())
      wants.push_back({model.name, ""});
  }
  if (wants.size() > mesh::kNodeStateLimits.wants) wants.resize(mesh::kNodeStateLimits.wants);
  std::ranges::sort(wants, {}, &mesh::WantedModel::name);
  return wants;
}

}  // namespace

std::uint64_t idle_steps(Millis idle, Millis limit) {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(idle.count(), 0));
  const auto step = count < 1'000 ? 0 : count < 60'000 ? 1'000 : std::bit_floor(count / 60'000) * 60'000;
  return idle < limit ? step : std::max(step, static_cast<std::uint64_t>(limit.count()));
}

mesh::NodeState make_node_state(const NodeOptions& options, const MachineFacts& facts,
                                const std::vector<mesh::Address>& addresses) {
  mesh::NodeState node_state;
  node_state.name = options.name;
  node_state.role = options.role;
  node_state.addresses = addresses;
  node_state.version = options.version;
  node_state.engine = options.llama_version;
  node_state.minor = mesh::kProtocolMinor;
  node_state.disk_free = in_steps(facts.disk_free);
  node_state.takes_copies = options.takes_copies();
  node_state.memory = memory_of(options, facts);
  node_state.weight_speeds = facts.weight_speeds;
  node_state.looking = !facts.catalog;
  node_state.demand = facts.demand;
  const bool gpu = std::ranges::any_of(facts.memory, is_gpu);
  if (options.role != mesh::Role::client && facts.catalog) {
    for (const auto& model : facts.catalog->models()) {
      // A program that a node has by chance is no model of the mesh: each node has its own, or none.
      if (model->installed) continue;
      node_state.models.push_back(on_disk(*model, options, facts, gpu ? Device::gpu : Device::cpu));
    }
    node_state.serving = serving(options, facts);
  }
  node_state.wants = wants_of(options, node_state.models);
  return node_state;
}

}  // namespace corral::fleet
