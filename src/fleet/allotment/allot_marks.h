// What the allocation has to know of this node besides its memory: what people have told it, what was given back and
// isn't asked for, and what it couldn't hold just now. Told to all in its statement. A plain value.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mesh/allocation/allocation_input.h"
#include "mesh/catalog/catalog.h"

namespace corral::fleet {

class AllotMarks {
 public:
  // Who has it so long after it was given back had it before that: only who gets it later has been asked for it.
  static constexpr Millis kHeed{10'000};
  // What was asked for before it was unloaded is heard of so much later.
  static constexpr Millis kOldNews{3'000};
  static constexpr Millis kFirstRest{30'000}, kLongestRest{600'000};  // of a model that couldn't be held here

  // A model that somebody has named; known by its content once some node has it.
  struct Named {
    std::string name;
    std::optional<mesh::ContentKey> content;
    friend bool operator==(const Named&, const Named&) = default;
  };

  // This node is to have that model, or nothing of the mesh's; until release().
  void assign(std::optional<Named> model);
  void release();
  // As assign(), where nobody has ever said anything to this node: how it was started.
  void assign_at_start(std::string name);
  // Given back, as somebody said so, or as nobody used it: nobody gets it until it is asked for.
  void unload(const mesh::ContentKey& model, MonoTime now);
  void rest(const mesh::ContentKey& model, MonoTime now);
  // It is wanted after all.
  void want(const mesh::ContentKey& model);
  void split(mesh::SplitOrder order);
  void end_split(const mesh::ContentKey& model);
  // It couldn't be loaded, or was lost: others may have it, and this node again after a while, longer each time.
  void decline(const mesh::ContentKey& model, MonoTime now);
  void loaded(const mesh::ContentKey& model);

  // What has happened since: models that were asked for, contents that are known now, rests that are over. True:
  // something is different.
  bool heed(const mesh::Catalog& catalog, const mesh::AllocationInput& situation, MonoTime now);
  void tell(mesh::NodeState& statement) const;

  struct Order {
    std::optional<Named> model;  // nothing: to have nothing
    friend bool operator==(const Order&, const Order&) = default;
  };
  const std::optional<Order>& order() const { return order_; }
  bool is_split(const mesh::ContentKey& model) const { return splits_.contains(model); }
  bool declines(const mesh::ContentKey& model) const { return declined_.contains(model); }
  bool is_waiting() const { return !declined_.empty(); }

  // What outlives this process: orders, and what was unloaded. Reading what makes no sense changes nothing.
  std::string text() const;
  void read(std::string_view text, MonoTime now);

 private:
  struct Given {  // back
    MonoTime since{};
    std::optional<double> least = {};     // requests an hour, since then
    std::set<mesh::NodeId> holders = {};  // that have had it all the time
  };
  struct Declined {
    MonoTime until{};
    Millis rest{0};
  };
  using Givens = std::map<mesh::ContentKey, Given>;
  bool heed(Givens& given, const mesh::AllocationInput& situation, MonoTime now, Millis old_news);
  void resolve(const mesh::Catalog& catalog);

  bool said_ = false;  // somebody has told this node to have something, or not to
  std::optional<Order> order_;
  Givens resting_, unloads_;
  std::map<mesh::ContentKey, Declined> declined_, rests_;  // rests_: how long the next one would be
  std::map<mesh::ContentKey, mesh::SplitOrder> splits_;
};

}  // namespace corral::fleet
