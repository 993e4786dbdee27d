// The wire form of groups and orders in a node state, see node_state.h. Only for it. Impossible entries (no model, no
// node) are skipped.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "mesh/catalog/fields.h"
#include "mesh/catalog/node_state.h"

namespace corral::mesh {

// The kinds of marks on one model, all in one kind of entry; the numbers are the wire's.
enum class MarkKind : std::uint8_t { order = 1, resting = 2, unload = 3, split = 4, declined = 5 };
struct Mark {
  MarkKind kind{};
  std::optional<ContentKey> model;
  std::vector<NodeId> nodes = {};
  std::uint64_t stamp = 0;
};

FieldWriter fields_of(const GroupReport& group);
FieldWriter fields_of(const ShareReport& share);
FieldWriter fields_of(const Mark& mark);
// All marks of a node state, and the reverse.
std::vector<Mark> marks_of(const NodeState& node_state);
void take_mark(Mark mark, NodeState& node_state);
std::optional<GroupReport> read_group(std::string_view bytes);
std::optional<ShareReport> read_share(std::string_view bytes);
std::optional<Mark> read_mark(std::string_view bytes);

}  // namespace corral::mesh
