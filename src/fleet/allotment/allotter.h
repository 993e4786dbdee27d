// Carries out this node's part of the allocation (mesh/allocation): lent loads and unloads, copies, groups. Every node
// computes the same allocation from all node states, and acts on its own lines only. The residency core decides about
// memory.
//
// Requests have priority: a line counts after it has been the same for a while (kSettle). So this node doesn't load a
// model that a request has just loaded elsewhere, and doesn't unload a model in use. Failed loads and lost models
// aren't retried for a while. This is announced, so that another node gets the model.
//
// Belongs to the loop of the mesh.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/named.h"
#include "fleet/allotment/allot_losses.h"
#include "fleet/allotment/allot_marks.h"
#include "fleet/base/allotment.h"
#include "fleet/groups/group_control.h"

namespace corral::fleet {

// The allotter's access to this node's memory, on the home loop. Each method is called on the loop of the mesh, returns
// at once, and calls `done` on that loop, once.
class AllotActions {
 public:
  virtual ~AllotActions() = default;
  // Loads the model as a peer request would: lent. A model in memory counts as used again.
  virtual void load(ModelName model, std::function<void(Result<>)> done) = 0;
  // Unloads a lent model that was idle for that long; `drain`: or as soon as its requests have ended. False: the model
  // is in use or not lent, and nothing happens.
  virtual void unload(ModelName model, Millis idle, bool drain, std::function<void(bool)> done) = 0;
};

// The implementation of AllotActions, and the thread that writes orders: only for the mesh's folder, as its disk may
// hang.
struct AllotConfig {
  AllotActions* actions = nullptr;
  async::ThreadPool* disk = nullptr;
};

// In the folder of the mesh.
inline constexpr const char* kOrdersFile = "orders.json";

struct AllotterOptions {
  Millis idle_unload{30 * 60'000};
  std::string assigned_at_start = {};  // the model that this node was started for; empty: none
};

struct AllotterParts {
  mesh::NodeId own;
  async::Timers& timers;
  AllotActions& actions;
  GroupControl* groups = nullptr;  // none: models aren't split here
  // Orders a copy of that content to this node. Second argument: a user wants the model here, otherwise the limits of
  // unordered copies apply. None: there are no copies.
  std::function<Result<>(const mesh::MeshModel& model, bool ordered)> copy = {};
  std::function<std::shared_ptr<const mesh::Catalog>()> catalog;
  std::function<std::vector<LentModel>()> lent;
  std::string kept = {};                       // orders that the previous process kept
  std::function<void(std::string)> keep = {};  // replaces the kept orders; returns at once
  std::function<void()> on_change;             // groups, shares, orders or rests for the node state have changed
  std::function<void()> on_new_view;           // the allocation in view() has changed
  std::function<void()> on_look = {};          // view() was computed anew, with or without changes
};

class Allotter {
 public:
  static constexpr Millis kSettle{2'000};   // lines count after they have been the same this long; orders count at once
  static constexpr Millis kBetween{500};    // shortest time between two computations
  static constexpr Millis kWaiting{1'000};  // time between two computations while something waits
  static constexpr Millis kFirstWords{10'000};  // nodes without an announcement are waited for this long
  static constexpr Millis kShows{10'000};       // the effect of an action may take this long to show
  static constexpr Millis kGroupEnds{10'000};   // a group without running parts and without a plan ends after this

  Allotter(async::Executor executor, AllotterParts parts, AllotterOptions options);
  Allotter(const Allotter&) = delete;
  Allotter& operator=(const Allotter&) = delete;

  void start();
  // Does nothing new from now on; before stop().
  void rest() { stopped_ = true; }
  // Does and calls nothing from now on.
  async::Task<void> stop();
  void change(AllotterOptions options);
  // Node states, links, lent models or groups here have changed.
  void look();

  AllotmentPtr view() const { return view_; }  // nullptr: not computed yet
  // Adds this node's groups, shares, orders and rests to its node state.
  void add_to(mesh::NodeState& node_state) const;

  // Orders of users for this node; all but splits are kept over restarts.
  void assign(std::optional<AllotMarks::Named> model);    // nullopt: hold nothing for the mesh
  void release();                                         // hold what the allocation assigns
  void unload(std::span<const mesh::ContentKey> models);  // until requests need them
  // assign() is in force for this model: it is never unloaded.
  bool is_assigned(const mesh::ContentKey& model) const;
  // Hosts the model over these nodes, until it is unloaded. `asked`: stamp of the order, by the sender's knowledge; an
  // order is made the newest of those known here. Errors: nowhere, which says what is short by how much.
  Result<> split(const mesh::ContentKey& model, std::vector<mesh::NodeId> nodes, std::uint64_t asked = 0);
  // Ends hosting, also of a group that no user ordered.
  void end_split(const mesh::ContentKey& model);

 private:
  // The action of a line of an allocation.
  enum class LineAction : std::uint8_t { load, copy, host, give_back };
  struct Line {
    mesh::ContentKey model;
    LineAction action{};
    friend auto operator<=>(const Line&, const Line&) = default;
  };
  MonoTime now() const { return parts_.timers.now(); }
  async::Task<void> look_soon();
  async::Task<void> look_later();
  void compute();
  void act(const mesh::Catalog& catalog);
  void act_on(const mesh::Catalog& catalog, const mesh::Assignment& line);
  void act_on(const mesh::Catalog& catalog, const mesh::Unload& line);
  bool is_due(const Line& line, bool at_once);
  void load(const mesh::ContentKey& model, const std::string& name);
  void copy(const mesh::Catalog& catalog, const mesh::ContentKey& model, bool ordered);
  void host(const mesh::SplitDecision& decision, bool ordered);
  bool is_hosted(const mesh::ContentKey& model) const;
  void end_groups();
  void use_again(const mesh::Catalog& catalog);
  bool note_losses(const mesh::Catalog& catalog, std::span<const mesh::NodeId> lost);
  bool note_lost_groups();
  std::optional<HostedGroup> group_over(const mesh::ContentKey& model, const std::vector<mesh::NodeId>& nodes) const;
  void keep();
  void changed();

  std::string named(const mesh::Catalog& catalog, const mesh::ContentKey& model) const;
  bool has_silent_node(const mesh::Catalog& catalog) const;
  const mesh::AllocationNode* own_node() const;
  bool has_time_left() const;

  const AllotterParts parts_;
  AllotterOptions options_;
  const async::Executor executor_;
  AllotMarks marks_;
  AllotLosses losses_;
  AllotmentPtr view_;
  std::map<Line, MonoTime> lines_, lines_before_;   // time of their first appearance
  std::map<Line, MonoTime> shown_by_;               // the effect of an action shows until then
  std::map<mesh::ContentKey, MonoTime> unplanned_;  // groups here that are no longer planned
  std::optional<mesh::ContentKey> loading_;
  bool waits_ = false;  // a timer must check again, even without changes
  bool settled_ = false;
  std::optional<MonoTime> take_back_, used_again_;
  MonoTime last_{};
  MonoClock::duration cost_{0};  // of the last computation
  bool looking_ = false, later_ = false, stopped_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
