// Copies of models from other nodes, and to them. Incomplete copies resume after a restart, and whenever a node with
// the model becomes reachable.
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
#include "models/hash/digest.h"
#include "models/model_info.h"

namespace corral::fleet {

// A model on this node's disk that has a hash.
struct DiskModel {
  std::string name;
  std::string source;
  std::vector<std::filesystem::path> paths;  // the projector last
  bool has_projector = false;
  std::vector<models::FileHash> hashes = {};  // of its files; without steps if those aren't known
};

// Folder and threads of copies, provided by the creator of the node. The threads do nothing else: hashing a large model
// takes minutes. Either all of them and the inspector are set, or none; none: no copies in either direction.
struct CopyStorage {
  async::ThreadPool* writes = nullptr;  // one thread: changes to a copy happen in order
  async::ThreadPool* reads = nullptr;   // for ranges that peers request
  async::ThreadPool* lists = nullptr;   // for file lists of offered models: reads whole models
  std::filesystem::path folder;
  std::function<void()> arrived;  // called on the loop of the mesh: new files are in the folder
  FileInspector* inspector = nullptr;
  std::function<std::vector<models::FileHash>(const models::ModelInfo&)> hashes = {};  // as far as known
};

struct CopyManagerParts {
  mesh::Peers& peers;
  const mesh::SigningKey& own;
  async::Timers& timers;
  CopyStorage storage;
  std::function<std::optional<DiskModel>(const Sha256& content)> on_disk;
  std::function<std::shared_ptr<const mesh::Catalog>()> catalog;
  std::function<void()> on_change;  // list() has changed; for progress at most twice a second
};

class CopyManager final : private mesh::CopyProvider {
 public:
  static constexpr std::size_t kAtATime = 2;
  static constexpr std::size_t kMaxKept = 64;  // including ended ones
  static constexpr std::size_t kMaxByAllocation = 4;
  static constexpr Millis kRest{600'000};   // pause after a failure, for the allocation
  static constexpr Millis kSettle{60'000};  // after this time a finished copy is scanned and hashed (large ones: later)
  static constexpr std::size_t kMaxDeclined = 1024;

  CopyManager(async::Executor executor, CopyManagerParts parts);
  ~CopyManager() override;
  CopyManager(const CopyManager&) = delete;
  CopyManager& operator=(const CopyManager&) = delete;

  // Resumes the copies of an earlier run.
  void start();
  // Ends what runs; incomplete files stay.
  async::Task<void> stop();
  // Nodes or their models have changed: waiting copies may begin.
  void look();
  // Whether peers may copy from here.
  void give(bool on) { gives_ = on; }
  // Whether the files of a copy can be inspected on this machine, as far as known. This is checked before the first
  // copy, and at each new order while inspection is impossible.
  bool can_take() const { return looks_ != Looks::impossible; }
  // Whether the allocation may order copies; if not, its incomplete copies are removed.
  void allow_allocation(bool on);

  // Orders a copy for a user; resumes an existing or failed one. Errors: copy_not_needed (it is here),
  // mesh::errc::not_offered (no reachable node offers it), mesh::errc::too_many.
  Result<CopyView> order(const mesh::MeshModel& model);
  // Orders a copy for the allocation. A failed copy isn't retried for a while. A copy that was finished, refused by the
  // inspector, or cancelled here is never made again. All of them together take at most half of the disk space that was
  // free before the first. Errors: also not_admin_here (those that were declined), copy_not_needed (it was made and
  // removed), mesh::errc::disk_full, copy_failed.
  Result<CopyView> order_for_allocation(const mesh::MeshModel& model, std::uint64_t disk_free);
  // nullptr: there is none.
  const CopyView* view_of(const Sha256& content) const;
  // Cancels a copy, and removes its files. A copy of the allocation stays in the list as failed, and the allocation
  // doesn't order it again. False: there is no such copy.
  bool cancel(const Sha256& content);
  std::vector<CopyView> list() const;  // the latest orders last

 private:
  // A file list in progress, for all peers that request it; cancelled with the last of them.
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
  const CopyManagerParts parts_;
  bool gives_ = true;
  bool for_allocation_ = true;
  enum class Looks : std::uint8_t { unknown, possible, impossible };  // whether files can be inspected
  Looks looks_ = Looks::unknown;
  std::deque<Copy> copies_;
  std::map<Sha256, Error> declined_;       // what the allocation no longer orders here, and why
  std::map<Sha256, std::uint64_t> taken_;  // bytes of its copies, finished or not
  std::uint64_t first_free_ = 0;           // free bytes of the disk before the first of them
  std::map<std::pair<Sha256, mesh::NodeId>, std::uint64_t>
      first_seen_;                                 // other nodes' copies for the allocation: bytes done
  std::set<Sha256> marked_;                        // listed in the marks file
  std::map<Sha256, mesh::OfferedModelPtr> lists_;  // of models here that peers requested
  std::map<Sha256, std::shared_ptr<Making>> making_;
  bool ending_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
