#include "engine/kv/radix_index.h"

#include <algorithm>
#include <utility>

namespace corral::engine {

std::uint32_t common_prefix(std::span<const Token> a, std::span<const Token> b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  return static_cast<std::uint32_t>(in_a - a.begin());
}

namespace {

// Frees memory too, except for a few tokens, since lists are often cut a little and grow again.
void cut(std::vector<Token>& edge, std::size_t length) {
  edge.resize(length);
  if (edge.capacity() > 2 * length) edge.shrink_to_fit();
}

}  // namespace

RadixIndex::RadixIndex() : root_(std::make_unique<Node>()) {}

RadixIndex::~RadixIndex() { clear(); }

void RadixIndex::clear() noexcept {
  // Iterative, because clients control the depth of the tree; allocates nothing.
  for (Node* node = root_.get(); node != nullptr;) {
    if (node->children.empty()) {
      node = node->parent;
    } else if (Node* const last = node->children.back().node.get(); last != nullptr && !last->children.empty()) {
      last->parent = node;
      node = last;
    } else {
      node->children.pop_back();
    }
  }
  root_->places.clear();
  owners_.clear();
  tokens_ = nodes_ = 0;
}

void RadixIndex::set(Owner owner, std::span<const Token> tokens) {
  truncate(owner, 0);
  extend(owner, tokens);
}

void RadixIndex::extend(Owner owner, std::span<const Token> suffix) {
  Place& place = owners_[owner];
  if (place.node == nullptr) {
    place.owner = owner;
    attach(place, *root_);
  }
  for (;;) {
    Node& node = *place.node;
    const auto rest = std::span<const Token>(node.edge).subspan(place.length - node.start);
    const std::uint32_t shared = common_prefix(rest, suffix);
    place.length += shared;
    suffix = suffix.subspan(shared);
    if (suffix.empty()) return;
    if (shared < rest.size()) split(node, place.length);

    Node* next = child(node, suffix.front());
    if (next == nullptr && node.children.empty() && &node != root_.get()) {  // a leaf grows
      node.edge.insert(node.edge.end(), suffix.begin(), suffix.end());
      tokens_ += suffix.size();
      continue;
    }
    if (next == nullptr) next = &add_child(node, suffix);
    detach(place);
    attach(place, *next);
  }
}

void RadixIndex::truncate(Owner owner, std::uint32_t length) {
  const auto found = owners_.find(owner);
  if (found == owners_.end() || length >= found->second.length) return;
  Place& place = found->second;
  Node* const old = place.node;
  Node* node = old;
  while (node->parent != nullptr && length <= node->start) node = node->parent;
  detach(place);
  place.length = length;
  attach(place, *node);
  tidy(old);
}

void RadixIndex::erase(Owner owner) {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return;
  Node* const node = found->second.node;
  detach(found->second);
  owners_.erase(found);
  tidy(node);
}

RadixIndex::Match RadixIndex::best(std::span<const Token> wanted) const {
  Match match;
  visit(wanted, 1, [&match](const Match& deepest) {
    match = deepest;
    return true;
  });
  return match;
}

void RadixIndex::visit(std::span<const Token> wanted, std::uint32_t least, const Visitor& visitor) const {
  auto [node, matched] = descend(wanted);
  std::vector<const Node*> below;
  std::vector<const Place*> shorter;
  for (const Node* seen = nullptr; node != nullptr; seen = node, node = node->parent) {
    matched = std::min(matched, node->end());
    if (matched < least) return;
    // All owners that match this far, here and below, except the visited branch.
    shorter.clear();
    for (const Place* place : node->places) {
      if (place->length < matched) {
        shorter.push_back(place);
      } else if (visitor({place->owner, matched})) {
        return;
      }
    }
    const auto go_on = [&below, seen](const Node& from) {
      for (const Child& next : from.children) {
        if (next.node.get() != seen) below.push_back(next.node.get());
      }
    };
    go_on(*node);
    while (!below.empty()) {
      const Node& next = *below.back();
      below.pop_back();
      for (const Place* place : next.places) {
        if (visitor({place->owner, matched})) return;
      }
      go_on(next);
    }
    // Then owners whose lists end earlier on this edge.
    std::ranges::sort(shorter, std::greater<>{}, &Place::length);
    for (const Place* place : shorter) {
      if (place->length < least || visitor({place->owner, place->length})) return;
    }
  }
}

std::optional<std::uint32_t> RadixIndex::length(Owner owner) const {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return std::nullopt;
  return found->second.length;
}

RadixIndex::Descent RadixIndex::descend(std::span<const Token> wanted) const {
  const Node* node = root_.get();
  for (;;) {
    const std::uint32_t matched = node->start + common_prefix(node->edge, wanted.subspan(node->start));
    if (matched < node->end() || matched == wanted.size()) return {node, matched};
    const Node* const next = child(*node, wanted[matched]);
    if (next == nullptr) return {node, matched};
    node = next;
  }
}

std::vector<RadixIndex::Child>::const_iterator RadixIndex::lower_bound(const Node& node, Token first) {
  return std::ranges::lower_bound(node.children, first, {}, &Child::first);
}

RadixIndex::Node* RadixIndex::child(const Node& node, Token first) {
  const auto found = lower_bound(node, first);
  return found != node.children.end() && found->first == first ? found->node.get() : nullptr;
}

RadixIndex::Node& RadixIndex::add_child(Node& parent, std::span<const Token> edge) {
  auto node = std::make_unique<Node>();
  node->parent = &parent;
  node->start = parent.end();
  node->edge.assign(edge.begin(), edge.end());
  Node& added = *node;
  parent.children.insert(lower_bound(parent, edge.front()), Child{edge.front(), std::move(node)});
  tokens_ += edge.size();
  ++nodes_;
  return added;
}

// Splits the edge: its rest, with all that ends or continues behind it, becomes a new child. The caller adds a second
// child.
void RadixIndex::split(Node& node, std::uint32_t at) {
  std::vector<Child> children = std::exchange(node.children, {});
  const std::vector<Token> rest(node.edge.begin() + (at - node.start), node.edge.end());
  cut(node.edge, at - node.start);
  tokens_ -= rest.size();
  Node& lower = add_child(node, rest);
  lower.children = std::move(children);
  for (const Child& moved : lower.children) moved.node->parent = &lower;
  const std::vector<Place*> places = std::exchange(node.places, {});
  for (Place* place : places) attach(*place, place->length > at ? lower : node);
}

// The reverse of split(): one child is left.
void RadixIndex::absorb_only_child(Node& node) {
  const std::unique_ptr<Node> only = std::move(node.children.front().node);
  node.edge.insert(node.edge.end(), only->edge.begin(), only->edge.end());
  node.children = std::move(only->children);
  for (const Child& moved : node.children) moved.node->parent = &node;
  for (Place* place : only->places) attach(*place, node);
  --nodes_;
}

// After an owner has left the node: removes tokens and nodes that no list needs.
void RadixIndex::tidy(Node* node) {
  if (node->parent == nullptr || !node->children.empty()) return;
  std::uint32_t end = node->start;
  for (const Place* place : node->places) {
    end = std::max(end, place->length);
    if (end == node->end()) return;
  }
  tokens_ -= node->end() - end;
  if (end > node->start) {
    cut(node->edge, end - node->start);
    return;
  }
  Node& parent = *node->parent;
  parent.children.erase(lower_bound(parent, node->edge.front()));
  --nodes_;
  if (parent.parent != nullptr && parent.children.size() == 1) absorb_only_child(parent);
}

void RadixIndex::attach(Place& place, Node& node) {
  place.node = &node;
  place.slot = static_cast<std::uint32_t>(node.places.size());
  node.places.push_back(&place);
}

void RadixIndex::detach(Place& place) {
  std::vector<Place*>& places = place.node->places;
  places[place.slot] = places.back();
  places[place.slot]->slot = place.slot;
  places.pop_back();
}

}  // namespace corral::engine
