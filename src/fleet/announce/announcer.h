// Collects the state of this machine for the mesh: models, instances, and free memory. Polls the router twice a second,
// which costs about ten microseconds, and everything else seldom. It does nothing outside a mesh.
//
// On the home loop, unless stated otherwise.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "async/loop.h"
#include "async/offload.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "device/memory_monitor.h"
#include "fleet/announce/own_node_state.h"
#include "fleet/base/free_disk.h"
#include "models/hash/content_hash.h"

namespace corral::fleet {

struct AnnouncerParts {
  async::Loop& home;
  async::Timers& timers;
  router::ModelRouter& router;
  device::MemoryMonitor& monitor;
  std::function<std::shared_ptr<const models::Catalog>()> catalog;  // as of the last scan; nullptr before the first
  std::function<void()> look_again;                                 // for new files; returns at once
  std::function<std::vector<mesh::Demand>()> demand;                // at this node, in steps
  // Measures this machine; called a few times once the node is in a mesh.
  std::function<async::Task<std::vector<mesh::WeightSpeed>>()> measure_speeds;
  std::filesystem::path state_dir;
  async::ThreadPool& disk;                    // for that folder's disk, which may hang
  std::function<void(MachineFacts)> publish;  // called on the home loop, twice a second at most
};

class Announcer {
 public:
  explicit Announcer(AnnouncerParts parts);

  // Starts or pauses the work. On any loop.
  void work(bool on);
  // Ends what runs. Once.
  async::Task<void> stop();
  // Hashes of the announced models; on any thread.
  const models::ContentHashes& hashes() const { return hashes_; }
  // As ContentHashes::finish_within().
  bool finish_within(Millis limit) { return hashes_.finish_within(limit); }

 private:
  async::Task<void> run();
  async::Task<void> look();
  async::Task<void> look_closely();
  async::Task<void> predict_large(std::vector<backends::ModelPtr> models);

  AnnouncerParts parts_;
  models::ContentHashes hashes_;
  FreeDisk free_disk_;
  MachineFacts facts_;
  std::uint64_t revision_ = 0;
  std::optional<MonoTime> closely_, again_;  // when that was last done
  std::set<ModelName> predicted_;            // models whose memory the engine has predicted
  bool on_ = false, runs_ = false, measured_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
