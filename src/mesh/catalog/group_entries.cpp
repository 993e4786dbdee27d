#include "mesh/catalog/group_entries.h"

#include <algorithm>

namespace corral::mesh {
namespace {

constexpr std::uint32_t kMaxLayers = 1 << 16;

std::string text_of(const ContentKey& model) {
  std::string bytes;
  ByteWriter(bytes).number<std::uint8_t>(model.pending).raw(model.bytes);
  return bytes;
}

std::optional<NodeId> read_node(const Field& field) {
  if (field.bytes.size() != sizeof(Sha256)) return std::nullopt;
  return NodeId{ByteReader(field.bytes).fixed<32>()};
}

std::optional<ContentKey> read_key(const Field& field) {
  ByteReader in(field.bytes);
  const auto pending = in.number<std::uint8_t>();
  const auto hash = in.fixed<32>();
  if (!in.done() || pending > 1) return std::nullopt;
  return ContentKey{hash, pending == 1};
}

std::optional<GroupShare> read_part(const Field& field) {
  ByteReader in(field.bytes);
  GroupShare share;
  share.node.bytes = in.fixed<32>();
  share.layers = std::min(in.number<std::uint32_t>(), kMaxLayers);
  share.bytes = std::min(in.number<std::uint64_t>(), kNodeStateLimits.number);
  if (!in.done()) return std::nullopt;
  return share;
}

GroupStage read_stage(const Field& field) {
  const auto stage = field.number(255);
  return stage >= 1 && stage <= 5 ? static_cast<GroupStage>(stage) : GroupStage::waiting;
}

}  // namespace

std::string_view name_of(GroupStage stage) {
  constexpr std::string_view kNames[] = {"waiting", "claiming", "standing", "draining", "stopping"};
  return kNames[static_cast<std::size_t>(stage) - 1];
}

FieldWriter fields_of(const GroupReport& group) {
  FieldWriter out;
  out.raw(1, text_of(group.model)).number(2, static_cast<std::uint64_t>(group.stage)).number(3, group.running);
  for (std::size_t i = 0; i < std::min(group.shares.size(), kNodeStateLimits.shares_of_group); ++i) {
    const auto& share = group.shares[i];
    std::string bytes;
    ByteWriter(bytes).raw(share.node.bytes).number<std::uint32_t>(share.layers).number<std::uint64_t>(share.bytes);
    out.raw(4, bytes);
  }
  out.number(5, group.idle_ms).text(6, std::string_view(group.refusal).substr(0, kNodeStateLimits.text));
  return out.number(7, group.by_hand).decimal(8, group.tokens_per_second);
}

FieldWriter fields_of(const ShareReport& share) {
  FieldWriter out;
  out.raw(1, as_text(share.host.bytes)).raw(2, text_of(share.model));
  return out.number(3, share.bytes).number(4, share.reaping);
}

FieldWriter fields_of(const Mark& mark) {
  FieldWriter out;
  out.number(1, static_cast<std::uint64_t>(mark.kind));
  if (mark.model) out.raw(2, text_of(*mark.model));
  for (std::size_t i = 0; i < std::min(mark.nodes.size(), kNodeStateLimits.shares_of_group); ++i)
    out.raw(3, as_text(mark.nodes[i].bytes));
  return out.number(4, mark.stamp);
}

std::optional<GroupReport> read_group(std::string_view bytes) {
  GroupReport group;
  std::optional<ContentKey> model;
  each_field(bytes, [&](const Field& field) {
    if (field.tag == 1) model = read_key(field);
    if (field.tag == 2) group.stage = read_stage(field);
    if (field.tag == 3) group.running = field.flag();
    if (field.tag == 4 && group.shares.size() < kNodeStateLimits.shares_of_group) {
      if (const auto share = read_part(field)) group.shares.push_back(*share);
    }
    if (field.tag == 5) group.idle_ms = field.number(kNodeStateLimits.number);
    if (field.tag == 6) group.refusal = field.text(kNodeStateLimits.text);
    if (field.tag == 7) group.by_hand = field.flag();
    if (field.tag == 8) group.tokens_per_second = field.decimal();
  });
  if (!model) return std::nullopt;
  group.model = *model;
  return group;
}

std::optional<ShareReport> read_share(std::string_view bytes) {
  ShareReport share;
  std::optional<NodeId> host;
  std::optional<ContentKey> model;
  each_field(bytes, [&](const Field& field) {
    if (field.tag == 1) host = read_node(field);
    if (field.tag == 2) model = read_key(field);
    if (field.tag == 3) share.bytes = field.number(kNodeStateLimits.number);
    if (field.tag == 4) share.reaping = field.flag();
  });
  if (!host || !model) return std::nullopt;
  share.host = *host;
  share.model = *model;
  return share;
}

// Only an order may have no model.
std::optional<Mark> read_mark(std::string_view bytes) {
  Mark mark;
  bool sane = true;
  each_field(bytes, [&](const Field& field) {
    if (field.tag == 1) mark.kind = static_cast<MarkKind>(field.number(255));
    if (field.tag == 2) {
      mark.model = read_key(field);
      sane = sane && mark.model.has_value();
    }
    if (field.tag == 3 && mark.nodes.size() < kNodeStateLimits.shares_of_group) {
      if (const auto node = read_node(field)) mark.nodes.push_back(*node);
    }
    if (field.tag == 4) mark.stamp = field.number(kNodeStateLimits.number);
  });
  std::ranges::sort(mark.nodes);
  const auto rest = std::ranges::unique(mark.nodes);
  mark.nodes.erase(rest.begin(), rest.end());
  const bool known = mark.kind >= MarkKind::order && mark.kind <= MarkKind::declined;
  if (!known || !sane || (!mark.model && mark.kind != MarkKind::order)) return std::nullopt;
  return mark;
}

std::vector<Mark> marks_of(const NodeState& node_state) {
  std::vector<Mark> marks;
  const auto all = [&](MarkKind kind, const std::vector<ContentKey>& models) {
    for (std::size_t i = 0; i < std::min(models.size(), kNodeStateLimits.marks); ++i)
      marks.push_back({kind, models[i]});
  };
  if (node_state.order) marks.push_back({MarkKind::order, node_state.order->model});
  all(MarkKind::resting, node_state.resting);
  all(MarkKind::unload, node_state.unloads);
  all(MarkKind::declined, node_state.declined);
  for (std::size_t i = 0; i < std::min(node_state.split_orders.size(), kNodeStateLimits.split_orders); ++i)
    marks.push_back({MarkKind::split, node_state.split_orders[i].model, node_state.split_orders[i].nodes,
                     node_state.split_orders[i].stamp});
  return marks;
}

void take_mark(Mark mark, NodeState& node_state) {
  const auto keep = [](auto& list, auto value, std::size_t limit) {
    if (list.size() < limit) list.push_back(std::move(value));
  };
  switch (mark.kind) {
    case MarkKind::order:
      if (!node_state.order) node_state.order = NodeOrder{mark.model};
      break;
    case MarkKind::resting:
      keep(node_state.resting, *mark.model, kNodeStateLimits.marks);
      break;
    case MarkKind::unload:
      keep(node_state.unloads, *mark.model, kNodeStateLimits.marks);
      break;
    case MarkKind::declined:
      keep(node_state.declined, *mark.model, kNodeStateLimits.marks);
      break;
    case MarkKind::split:
      keep(node_state.split_orders, SplitOrder{*mark.model, std::move(mark.nodes), mark.stamp},
           kNodeStateLimits.split_orders);
      break;
  }
}

}  // namespace corral::mesh
