// Carries out what the allocation says of this node (mesh/allocation): has models loaded for the mesh and given back,
// copies ordered, groups begun and ended. Every node computes the same allocation from what all say, and acts on its
// own lines only; its residency core has the last word about memory.
//
// What requests do by themselves goes before: a line counts once it has stood for a while (kSettle), so that a model
// that a request has just had loaded somewhere isn't loaded here as well, and nothing that somebody uses is given back.
// A load that failed and a model that this node lost aren't tried again for a while, which is told to others as well,
// so that another node gets the model.
//
// Belongs to the loop of the mesh.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/timer.h"
#include "base/named.h"
#include "fleet/allotment/allot_marks.h"
#include "fleet/base/allotment.h"
#include "fleet/groups/group_control.h"

namespace corral::fleet {

// What the allotter does to this node's memory: on the home loop. Each is called on the loop of the mesh, returns at
// once, and calls `done` on it, once.
class AllotActions {
 public:
  virtual ~AllotActions() = default;
  // Has the model loaded as a peer's request would: lent. One that is there counts as used again.
  virtual void load(ModelName model, std::function<void(Result<>)> done) = 0;
  // Gives a lent model back that nobody has used for so long; `drain`: or as soon as what runs on it has ended. False:
  // somebody uses it, or it isn't lent: nothing happens.
  virtual void unload(ModelName model, Millis idle, bool drain, std::function<void(bool)> done) = 0;
};

// A model that this node has lent, as it knows by itself.
struct LentModel {
  ModelName name;
  Millis idle{0};      // since its last request
  bool ready = false;  // else it is on its way into memory, or out of it
};

// Who does it, and the thread that keeps what people have ordered: of the mesh's folder alone, as its disk may hang.
struct AllotConfig {
  AllotActions* hands = nullptr;
  async::ThreadPool* disk = nullptr;
};

// In the folder of the mesh.
inline constexpr const char* kOrdersFile = "orders.json";

struct AllotterOptions {
  Millis idle_unload{30 * 60'000};
  std::string told_at_start = {};  // a model that this node was started for; empty: none
};

struct AllotterParts {
  mesh::NodeId own;
  async::Timers& timers;
  AllotActions& hands;
  GroupControl* groups = nullptr;  // none: models aren't split here
  // Orders a copy of that content to this node. `told`: a person wants the model here, else the bounds of copies that
  // nobody ordered count. None: there are no copies.
  std::function<Result<>(const mesh::MeshModel& model, bool told)> copy = {};
  std::function<std::shared_ptr<const mesh::Catalog>()> catalog;
  std::function<std::vector<LentModel>()> lent;
  std::string kept = {};                       // what people had ordered when the last life ended
  std::function<void(std::string)> keep = {};  // for the next life, in place of what was; returns at once
  std::function<void()> on_change;             // what tell() says is different
  std::function<void()> on_new_view;           // view() is: its allocation
  std::function<void()> on_look = {};          // view() has been made anew, whatever it says
};

class Allotter {
 public:
  static constexpr Millis kSettle{2'000};       // lines that stand for so long are acted on; orders at once
  static constexpr Millis kBetween{500};        // allocations are computed no more often
  static constexpr Millis kWaiting{1'000};      // and so often while something waits
  static constexpr Millis kFirstWords{10'000};  // so long who is there and says nothing yet is waited for
  static constexpr Millis kShows{10'000};       // so long what was done may take until it shows
  static constexpr Millis kGroupEnds{10'000};   // a group that has nothing and isn't planned any more ends then

  Allotter(async::Executor executor, AllotterParts parts, AllotterOptions options);
  ~Allotter();
  Allotter(const Allotter&) = delete;
  Allotter& operator=(const Allotter&) = delete;

  void start();
  // Nothing new is done from here on; before stop().
  void rest();
  // Nothing is done or called from here on.
  async::Task<void> stop();
  void change(AllotterOptions options);
  // What nodes say, their links, lent models or groups here are different.
  void look();

  AllotmentPtr view() const;  // nullptr: not computed yet
  // Adds what this node says of groups, shares, orders and rests.
  void tell(mesh::NodeState& statement) const;

  // What people want of this node; all but splits are kept over restarts.
  void assign(std::optional<AllotMarks::Named> model);    // nothing: to have nothing of the mesh's
  void release();                                         // to have what the allocation gives it
  void unload(std::span<const mesh::ContentKey> models);  // until somebody asks for them
  // To host it over these nodes, until it is unloaded. `asked`: how new the order is, as far as who gives it knows; by
  // what is known here it is the newest. Errors: nowhere, which says what is short by how much.
  Result<> split(const mesh::ContentKey& model, std::vector<mesh::NodeId> nodes, std::uint64_t asked = 0);
  // Not to host it any more: also one that nobody has ordered.
  void end_split(const mesh::ContentKey& model);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::fleet
