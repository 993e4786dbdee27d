// Facts about this node for the allocation, besides its memory: orders of users, unloaded models without demand, and
// failed models. Part of its node state. A plain value.
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
  // A node that has the model within this time after its unload counts as a holder from before it. A node that gets it
  // later shows new demand.
  static constexpr Millis kHeed{10'000};
  // Reports of requests before an unload arrive up to this much later.
  static constexpr Millis kDemandDelay{3'000};
  static constexpr Millis kFirstRest{30'000}, kLongestRest{600'000};  // after a model failed here

  // A model that a user has named; its content is known once a node has the model.
  struct Named {
    std::string name;
    std::optional<mesh::ContentKey> content;
    friend bool operator==(const Named&, const Named&) = default;
  };

  // An order to hold that model, or nothing for the mesh; valid until release().
  void assign(std::optional<Named> model);
  void release();
  // As assign(), if no user has ever given this node an order: the model that it was started for.
  void assign_at_start(std::string name);
  // Unloaded by an order, or for idleness: no node gets the model until a request needs it.
  void unload(const mesh::ContentKey& model, MonoTime now);
  void rest(const mesh::ContentKey& model, MonoTime now);
  // Removes both marks.
  void want(const mesh::ContentKey& model);
  void split(mesh::SplitOrder order);
  void end_split(const mesh::ContentKey& model);
  // A load failed, or the model was lost: other nodes may get it, and this node again after a pause that doubles each
  // time.
  void decline(const mesh::ContentKey& model, MonoTime now);
  void loaded(const mesh::ContentKey& model);

  // Applies what has happened since: new demand, known contents, expired pauses. True: the marks have changed.
  bool heed(const mesh::Catalog& catalog, const mesh::AllocationInput& situation, MonoTime now);
  void add_to(mesh::NodeState& node_state) const;

  struct Order {
    std::optional<Named> model;  // nullopt: hold nothing
    friend bool operator==(const Order&, const Order&) = default;
  };
  const std::optional<Order>& order() const { return order_; }
  bool is_split(const mesh::ContentKey& model) const { return splits_.contains(model); }
  bool declines(const mesh::ContentKey& model) const { return declined_.contains(model); }
  bool is_waiting() const { return !declined_.empty(); }

  // What survives this process: orders and unloaded models. Reading invalid text changes nothing.
  std::string text() const;
  void read(std::string_view text, MonoTime now);

 private:
  struct Given {  // unloaded model
    MonoTime since{};
    std::optional<double> least = {};     // lowest requests per hour since then
    std::set<mesh::NodeId> holders = {};  // nodes that have had it all the time
  };
  struct Declined {
    MonoTime until{};
    Millis rest{0};
  };
  using Givens = std::map<mesh::ContentKey, Given>;
  bool heed(Givens& given, const mesh::AllocationInput& situation, MonoTime now, Millis demand_delay);
  void resolve(const mesh::Catalog& catalog);

  bool user_ordered_ = false;  // a user has given this node an order
  std::optional<Order> order_;
  Givens resting_, unloads_;
  std::map<mesh::ContentKey, Declined> declined_, rests_;  // rests_: durations of the next pauses
  std::map<mesh::ContentKey, mesh::SplitOrder> splits_;
};

}  // namespace corral::fleet
