// Who has computed which token lists: finds the longest beginning that a wanted list has in common with any of them.
//
// A radix tree. Lists with the same beginning share its tokens, so memory is proportional to the distinct ones, and a
// question costs the length of the answer, however many lists there are. An owner's list may end in the middle of an
// edge; a node is made only where lists really part, so that a list growing by a token at a time costs that token.
// Pure; one thread. Lengths are in tokens.
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

// How many tokens two lists have in common at their beginning.
std::uint32_t common_prefix(std::span<const Token> a, std::span<const Token> b);

class RadixIndex {
 public:
  // Whatever the caller files lists under; each owner has one list.
  using Owner = std::uint64_t;

  struct Match {
    Owner owner = 0;
    std::uint32_t length = 0;  // 0: nobody has anything in common
  };

  // True: that's enough.
  using Visitor = std::function<bool(const Match&)>;

  RadixIndex();
  ~RadixIndex();
  RadixIndex(const RadixIndex&) = delete;
  RadixIndex& operator=(const RadixIndex&) = delete;

  // Replaces the owner's list; an unknown owner becomes known, with an empty list too.
  void set(Owner owner, std::span<const Token> tokens);
  // Puts tokens behind the owner's list: O(suffix), and once more the edge it stands on if it parts from others there.
  void extend(Owner owner, std::span<const Token> suffix);
  // Cuts the owner's list back to `length`; a list that isn't longer stays as it is.
  void truncate(Owner owner, std::uint32_t length);
  void erase(Owner owner);
  // Forgets everything; also what a call left halfway for want of memory, which is fit for nothing else.
  void clear() noexcept;

  // One of those that have most in common with `wanted`.
  Match best(std::span<const Token> wanted) const;
  // Calls `visitor` with each owner that has at least `least` tokens in common with `wanted`, the longest first and in
  // no order among equals, until it says that it's enough. It must not change the index.
  void visit(std::span<const Token> wanted, std::uint32_t least, const Visitor& visitor) const;

  // Length of the owner's list, nothing for an unknown owner.
  std::optional<std::uint32_t> length(Owner owner) const;
  std::size_t size() const { return owners_.size(); }
  // Tokens kept, each common beginning counted once.
  std::size_t tokens() const { return tokens_; }
  // Pieces the tree is made of: at most two for each owner.
  std::size_t nodes() const { return nodes_; }

 private:
  struct Node;
  struct Child {
    Token first;  // of the node's edge
    std::unique_ptr<Node> node;
  };
  // An owner's place: the end of its list is somewhere behind the first token of the node's edge, or at the root.
  struct Place {
    Owner owner = 0;
    Node* node = nullptr;
    std::uint32_t length = 0;
    std::uint32_t slot = 0;  // where the node's list of places has it
  };
  struct Node {
    Node* parent = nullptr;
    std::uint32_t start = 0;      // length of the list up to the edge
    std::vector<Token> edge;      // empty for the root only
    std::vector<Child> children;  // by first token; none or at least two, but for the root
    std::vector<Place*> places;   // of the owners whose lists end on this edge; in a leaf one ends at its very end

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
  std::unordered_map<Owner, Place> owners_;  // its elements don't move: nodes point at them
  std::size_t tokens_ = 0;
  std::size_t nodes_ = 0;  // without the root
};

}  // namespace corral::engine
