// Copies of models from other nodes, and to them. Those that were ordered and aren't whole go on after a restart, and
// whenever a node is there again that has them.
//
// On the loop of the mesh.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/task_group.h"
#include "fleet/copies/copy_view.h"
#include "fleet/copies/file_inspector.h"
#include "mesh/catalog/catalog.h"
#include "mesh/copy/copy_fetch.h"
#include "mesh/copy/copy_source.h"
#include "mesh/peers/peers.h"
#include "models/digest.h"
#include "models/model_info.h"

namespace corral::fleet {

// A model on this node's disk that has a hash.
struct DiskModel {
  std::string name;
  std::string source;
  std::vector<std::filesystem::path> paths;  // the projector last
  bool has_projector = false;
  std::vector<models::FileHash> hashes = {};  // of its files; without steps where those aren't known
};

// Where copies go, and the threads for it; from whoever makes the node. Nobody else needs these threads: hashing a
// large model keeps one for minutes. All of them and the inspector or none; none: no copies, neither way.
struct CopyStorage {
  async::ThreadPool* writes = nullptr;  // one thread: what is done to a copy is done in order
  async::ThreadPool* reads = nullptr;   // of ranges that are given
  async::ThreadPool* lists = nullptr;   // of what is to be given: reads whole models
  std::filesystem::path folder;
  std::function<void()> arrived;  // called on the loop of the mesh: there are new files in the folder
  FileInspector* inspector = nullptr;
  std::function<std::vector<models::FileHash>(const models::ModelInfo&)> hashes = {};  // as far as they are known
};

struct CopyDeskParts {
  mesh::Peers& peers;
  const mesh::SigningKey& own;
  async::Timers& timers;
  CopyStorage place;
  std::function<std::optional<DiskModel>(const Sha256& content)> on_disk;
  std::function<std::shared_ptr<const mesh::Catalog>()> catalog;
  std::function<void()> on_change;  // of list(); progress twice a second at most
};

class CopyManager final : private mesh::CopyProvider {
 public:
  static constexpr std::size_t kAtATime = 2;
  static constexpr std::size_t kMaxKept = 64;  // those that ended included
  static constexpr std::size_t kMaxByAllocation = 4;
  static constexpr Millis kRest{600'000};   // of one that failed, for the allocation
  static constexpr Millis kSettle{60'000};  // then a copy that was made is on the disk, and hashed (large ones: later)
  static constexpr std::size_t kMaxDeclined = 1024;

  CopyManager(async::Executor executor, CopyDeskParts parts);
  ~CopyManager() override;
  CopyManager(const CopyManager&) = delete;
  CopyManager& operator=(const CopyManager&) = delete;

  // Takes up what an earlier run left.
  void start();
  // Ends what runs; what there is of it stays.
  async::Task<void> stop();
  // Other nodes are there, or have other models: what waits may begin.
  void look();
  // Whether other nodes get copies from here.
  void give(bool on) { gives_ = on; }
  // Whether somebody could look at the files of a copy on this machine, as far as that is known: it is asked before the
  // first copy begins, and again with each that is ordered while nobody can.
  bool can_take() const { return looks_ != Looks::nobody; }
  // Whether the allocation may order; if not, what it ordered and isn't whole is removed.
  void allow_allocation(bool on);

  // Orders a copy, for a person; one that was ordered, and one that failed, goes on.
  // Errors: copy_not_needed (it is here), mesh::errc::not_offered (nobody who can be reached gives it),
  // mesh::errc::too_many.
  Result<CopyView> order(const mesh::MeshModel& model);
  // The same because the allocation needs it. A copy that failed isn't begun again for a while. One that was made, one
  // whose files were refused, and one that was given up here is never made again for it. All of them together take half
  // of the disk that was free before the first. Errors: also not_admin_here (those that were declined),
  // copy_not_needed (it was made and removed), mesh::errc::disk_full, copy_failed.
  Result<CopyView> order_for_allocation(const mesh::MeshModel& model, std::uint64_t disk_free);
  // nullptr: there is none.
  const CopyView* view_of(const Sha256& content) const;
  // Gives up a copy, and removes what there is of it. One of the allocation's stays in the list as failed, and isn't
  // ordered by it again. False: there is none.
  bool cancel(const Sha256& content);
  std::vector<CopyView> list() const;  // the latest orders last

 private:
  // A list that is being made, for all who ask for it; given up with the last of them.
  struct Making;

  struct Copy {
    CopyView view;
    MonoTime ended{};
    std::unique_ptr<async::TaskGroup> task;  // while it runs
  };

  async::Task<Result<mesh::OfferedModelPtr>> find(Sha256 content) override;
  async::Task<void> make(DiskModel model, Sha256 content, std::shared_ptr<Making> making);
  async::Task<void> serve(std::unique_ptr<mesh::Stream> stream);
  async::Task<void> take_up();
  async::Task<void> discard(std::unique_ptr<async::TaskGroup> ending, Sha256 content);
  Copy& add(const Sha256& content, std::string model, std::uint64_t bytes);
  void begin_next();
  void leave_to_others();
  bool goes_on_there(const mesh::KnownNode& node, const CopyView& own);
  Result<> check_disk(const mesh::MeshModel& model, std::uint64_t disk_free);
  void remove(const Sha256& content);
  void decline(const Sha256& content, std::error_code cause, std::string why);
  bool is_settled(const Copy& copy) const;
  void keep_marks();
  async::Task<void> write_marks(std::set<Sha256> open);
  async::Task<void> run(Sha256 content);
  async::Task<Result<std::vector<std::filesystem::path>>> fetch(Sha256 content);
  std::vector<mesh::NodeId> sources(const Sha256& content) const;
  Copy* find_copy(const Sha256& content);

  const async::Executor executor_;
  const CopyDeskParts parts_;
  bool gives_ = true;
  bool for_allocation_ = true;
  enum class Looks : std::uint8_t { unknown, somebody, nobody };  // at files
  Looks looks_ = Looks::unknown;
  std::deque<Copy> copies_;
  std::map<Sha256, Error> declined_;       // what the allocation orders here no more, and why
  std::map<Sha256, std::uint64_t> taken_;  // bytes of those that it ordered, and that are here or to be
  std::uint64_t first_free_ = 0;           // bytes of the disk, before the first of them
  std::map<std::pair<Sha256, mesh::NodeId>, std::uint64_t> first_seen_;  // of others for the allocation: bytes done
  std::set<Sha256> marked_;                                              // in the file of the allocation's
  std::map<Sha256, mesh::OfferedModelPtr> lists_;                        // of models here that were asked for
  std::map<Sha256, std::shared_ptr<Making>> making_;
  bool ending_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
