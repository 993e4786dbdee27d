// Groups at this node: the runner, its tunnels, and their state for users and requests.
#include <algorithm>

#include "fleet/base/own_names.h"
#include "fleet/groups/runner_group_control.h"
#include "fleet/node/member_runtime.h"
#include "fleet/tunnels/tunnel_entry.h"
#include "mesh/catalog/hashed_since.h"
#include "mesh/identity/keys.h"

namespace corral::fleet {

using async::Task;

namespace {

// Lent memory of the pool for a share: that of the GPU, if there is one.
std::uint64_t lent_bytes(const mesh::NodeState& state) {
  const bool gpu = std::ranges::any_of(state.memory, &mesh::MemoryReport::gpu);
  std::uint64_t bytes = 0;
  for (const auto& memory : state.memory)
    if (memory.gpu == gpu) bytes += std::min(memory.lent, memory.total);
  return bytes;
}

}  // namespace

void MemberRuntime::make_groups(GroupConfig config) {
  group_config_ = std::move(config);
  std::uint64_t seed = 0;
  mesh::fill_random(reinterpret_cast<std::uint8_t*>(&seed), sizeof seed);
  groups_ = std::make_unique<GroupRunner>(
      GroupParts{.executor = executor_,
                 .timers = timers_,
                 .peers = peers_,
                 .processes = *group_config_.processes,
                 .open_tunnel = [this](mesh::NodeId node, mesh::ContentKey model,
                                       mesh::PlanTerm of) { return open_tunnel(node, model, of); },
                 .folder = options_.folder,
                 .disk = *group_config_.disk,
                 .node_name = [this](const mesh::NodeId& node) { return name_of(node); },
                 .llama_of = [this](const mesh::NodeId& node) { return llama_of(node); },
                 .own_name = [this](const mesh::ContentKey& model) { return own_name_of(model); },
                 .model_name = [this](const mesh::ContentKey& model) { return model_name_of(model); },
                 .seed = seed});
  groups_->on_change([this] { groups_changed(); });
  group_control_ = std::make_unique<RunnerGroupControl>(
      *groups_, [this](const std::string& name) { return idle_of(name); },
      [this](const mesh::ContentKey& model) { return now_called(model); });
  if (group_config_.report_to) group_config_.report_to(&groups_->reports());
  tunnels_ = std::make_unique<TunnelAcceptor>(TunnelParts{executor_, timers_, peers_},
                                              [this](mesh::NodeId from, mesh::ContentKey model, mesh::PlanTerm of) {
                                                return groups_->worker_for(from, model, of);
                                              });
}

void MemberRuntime::groups_changed() {
  publish_splits();
  look_at_allocation();
  announce();
  on_change_();
}

void MemberRuntime::publish_splits() {
  if (!group_config_.publish_splits) return;
  std::vector<SplitStatus> splits;
  if (groups_)
    for (const auto& hosted : groups_->hosted()) {
      splits.push_back(split_status_of(hosted));
      splits.back().model = now_called(hosted.plan.model);
    }
  if (const auto allotment = allotter_ ? allotter_->view() : nullptr) {
    for (auto& coming : split_status_of(*allotment)) {
      if (std::ranges::find(splits, coming.model, &SplitStatus::model) != splits.end()) continue;
      coming.name = own_name_of(coming.model);
      splits.push_back(std::move(coming));
    }
  }
  if (splits == published_splits_) return;
  published_splits_ = splits;
  group_config_.publish_splits(std::move(splits));
}

// A group that is being started is announced as a load, so that requests of all nodes come here and wait.
void MemberRuntime::add_groups(mesh::NodeState& node_state) const {
  if (!groups_) return;
  for (const auto& hosted : groups_->hosted()) {
    const bool made = hosted.under_way || !hosted.wrong_since || timers_.now() - *hosted.wrong_since < kSplitPatience;
    const bool known =
        std::ranges::find(node_state.serving, hosted.name, &mesh::ServedModel::name) != node_state.serving.end();
    if (hosted.running || known || !made || hosted.name.empty()) continue;
    mesh::ServedModel making;
    making.name = hosted.name;
    making.state = mesh::ServingState::loading;
    making.lent = !hosted.by_hand;
    node_state.serving.push_back(std::move(making));
  }
}

void MemberRuntime::lend() {
  if (groups_) groups_->lend(lent_bytes(announced_));
}

void MemberRuntime::describe_groups(MeshView& view) {
  if (!groups_) return;
  for (const auto& hosted : groups_->hosted()) {
    const auto model = now_called(hosted.plan.model);
    view.groups.push_back(view_of(hosted, model_name_of(model)));
    view.groups.back().content = model;
  }
  std::ranges::sort(view.groups, {}, &GroupView::model);
  if (const auto shared = groups_->shared()) view.share = view_of(*shared);
  if (view.problem.empty()) view.problem = groups_->problem();
}

void MemberRuntime::wind_down(Millis within) {
  if (allotter_) allotter_->rest();  // otherwise it would plan again what is released
  if (groups_) groups_->wind_down(within);
}

Task<void> MemberRuntime::end_groups() {
  if (!groups_) co_return;
  co_await groups_->stop();
  co_await tunnels_->stop();
  if (group_config_.report_to) group_config_.report_to(nullptr);
  publish_splits();
}

Task<Result<OpenTunnel>> MemberRuntime::open_tunnel(mesh::NodeId node, mesh::ContentKey model, mesh::PlanTerm of) {
  const TunnelParts parts{executor_, timers_, peers_};
  auto opening = TunnelEntry::open(parts, node, model, of);
  auto entry = co_await std::move(opening);
  if (!entry) co_return std::unexpected(entry.error());
  auto endpoint = (*entry)->endpoint();
  auto broken = (*entry)->broken();
  co_return OpenTunnel{std::move(endpoint), std::shared_ptr<TunnelEntry>(std::move(*entry)), std::move(broken)};
}

Millis MemberRuntime::idle_of(const std::string& model) const {
  if (!facts_) return Millis(0);
  for (const auto& instance : facts_->report.instances)
    if (instance.view.spec->name.value() == model && instance.view.leases == 0) return instance.view.idle;
  return Millis(0);
}

mesh::ContentKey MemberRuntime::now_called(const mesh::ContentKey& model) {
  if (!model.pending) return model;
  const auto catalog = gossip_.catalog();
  return mesh::HashedSince(*catalog)(model);
}

std::string MemberRuntime::own_name_of(const mesh::ContentKey& model) {
  if (!facts_ || !facts_->catalog) return {};
  // Also finds a file that isn't hashed here yet, but looks like another node's.
  if (auto known = own_name(*gossip_.catalog(), model, own_.id()); !known.empty()) return known;
  for (const auto& own : facts_->catalog->models()) {
    const auto hash = facts_->contents.find(own->name);
    const bool same = hash != facts_->contents.end() && !model.pending && hash->second == model.bytes;
    // The plan may be older than the hash of the file.
    mesh::ModelOnDisk unhashed;
    unhashed.name = own->name.value();
    unhashed.bytes = own->size.value();
    if (same || (model.pending && mesh::content_key(unhashed) == model)) return unhashed.name;
  }
  return {};
}

std::string MemberRuntime::model_name_of(const mesh::ContentKey& model) {
  const auto catalog = gossip_.catalog();
  for (const auto& known : catalog->models())
    if (known.content == model) return known.name;
  const auto own = own_name_of(model);
  return own.empty() ? mesh::hash8(model) : own;
}

std::string MemberRuntime::llama_of(const mesh::NodeId& node) const {
  if (node == own_.id()) return options_.llama_version;
  const auto* announcement = gossip_.store().find(node);
  return announcement != nullptr && announcement->statement ? announcement->statement->engine : std::string();
}

}  // namespace corral::fleet
