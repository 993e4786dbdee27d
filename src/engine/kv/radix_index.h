// Index of token lists by owner: finds the longest common prefix of a given list with any of them.
//
// A radix tree. Lists with the same prefix share its tokens, so memory is proportional to distinct tokens. A lookup
// costs the length of the match, for any number of lists. A list may end in the middle of an edge. Nodes exist only
// where lists diverge, so appending a token costs one token. Pure; one thread. Lengths are in tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

// Length of the common prefix.
std::uint32_t common_prefix(std::span<const Token> a, std::span<const Token> b);

class RadixIndex {
 public:
  // Key chosen by the caller; each owner has one list.
  using Owner = std::uint64_t;

  struct Match {
    Owner owner = 0;
    std::uint32_t length = 0;  // 0: no common prefix
  };

  // Returns true to stop.
  using Visitor = std::function<bool(const Match&)>;

  RadixIndex();
  ~RadixIndex();
  RadixIndex(const RadixIndex&) = delete;
  RadixIndex& operator=(const RadixIndex&) = delete;

  // Replaces the owner's list; an unknown owner becomes known, with an empty list too.
  void set(Owner owner, std::span<const Token> tokens);
  // Appends tokens to the owner's list: O(suffix), plus one edge if the list diverges from others there.
  void extend(Owner owner, std::span<const Token> suffix);
  // Cuts the owner's list to `length`; a shorter list stays as it is.
  void truncate(Owner owner, std::uint32_t length);
  void erase(Owner owner);
  // Removes everything, also the remains of a call that ran out of memory; only clear() is allowed after such a call.
  void clear() noexcept;

  // An owner with the longest common prefix with `wanted`.
  Match best(std::span<const Token> wanted) const;
  // Calls `visitor` for each owner with a common prefix of at least `least` tokens, longest first, until it returns
  // true. The order among equals is not defined. The visitor must not change the index.
  void visit(std::span<const Token> wanted, std::uint32_t least, const Visitor& visitor) const;

  // Length of the owner's list; none for an unknown owner.
  std::optional<std::uint32_t> length(Owner owner) const;
  std::size_t size() const { return owners_.size(); }
  // Stored tokens; common prefixes count once.
  std::size_t tokens() const { return tokens_; }
  // Nodes of the tree: at most two for each owner.
  std::size_t nodes() const { return nodes_; }

 private:
  struct Node;
  struct Child {
    Token first;  // of the node's edge
    std::unique_ptr<Node> node;
  };
  // The end of an owner's list: behind the first token of the node's edge or later, or at the root.
  struct Place {
    Owner owner = 0;
    Node* node = nullptr;
    std::uint32_t length = 0;
    std::uint32_t slot = 0;  // index in Node::places
  };
  struct Node {
    Node* parent = nullptr;
    std::uint32_t start = 0;      // length of the list up to the edge
    std::vector<Token> edge;      // empty for the root only
    std::vector<Child> children;  // by first token; none or at least two, except at the root
    std::vector<Place*> places;   // owners whose lists end on this edge; in a leaf, at least one at its end

    std::uint32_t end() const { return start + static_cast<std::uint32_t>(edge.size()); }
  };
  struct Descent {
    const Node* node;
    std::uint32_t matched;
  };

  Descent descend(std::span<const Token> wanted) const;
  static std::vector<Child>::const_iterator lower_bound(const Node& node, Token first);
  static Node* child(const Node& node, Token first);
  Node& add_child(Node& parent, std::span<const Token> edge);
  void split(Node& node, std::uint32_t at);
  void absorb_only_child(Node& node);
  void tidy(Node* node);
  static void attach(Place& place, Node& node);
  static void detach(Place& place);

  std::unique_ptr<Node> root_;
  std::unordered_map<Owner, Place> owners_;  // nodes point at its elements, which do not move
  std::size_t tokens_ = 0;
  std::size_t nodes_ = 0;  // without the root
};

}  // namespace corral::engine
