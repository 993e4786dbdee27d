// Threads of the server for work that would block a loop. A call may never return (a network mount), so each kind of
// work has a pool of its own and waits for its own disks only. No two pools could be one: either their disks differ, or
// one has long jobs while callers of the other have time limits.
//
// Other threads that wait for disks belong to their users: store::Store (SQLite), downloads::DownloadManager,
// models::ContentHashes and app::ModelSupply (copies of imported files).
#pragma once

#include "async/offload.h"
#include "async/timer.h"

namespace corral::app {

struct ServerThreads {
  // Scans all folders of models. Lists of models wait for it, and requests for unknown models.
  async::ThreadPool scans{1};
  // Looks at files of models, on any disk: loads wait for it. As many disks may hang before other loads wait, too.
  async::ThreadPool files{4};
  // Writes ranges of copies from other nodes, in order, and syncs whole files at the end. Only copies wait.
  async::ThreadPool copy_writes{1};
  // Reads ranges of models for other nodes, on any disk. Their copies wait, with a time limit for each range.
  async::ThreadPool copy_reads{2};
  // Lists the files of models for other nodes, on any disk. It reads whole models: minutes. New copies wait.
  async::ThreadPool copy_lists{1};
  // The folder of weights that hosts send, thousands of files, and the free space of that disk. Starts of RPC workers
  // wait, for seconds at most.
  async::ThreadPool weights{1};
  // Small files of the mesh's folder. Grants of memory wait for one write, so it must not wait for other files.
  async::ThreadPool mesh_files{1};
  // Reads whole models, on any disk, to verify them: minutes. Only the user who asked waits.
  async::ThreadPool verification{1};
  // Decodes and parses large bodies, which takes milliseconds each. Uses no disk.
  async::ThreadPool bodies{1};
  // Writes and reads uploaded files, in small pieces. Requests with files wait.
  async::ThreadPool uploads{2};

  // Lets running jobs end and starts no others.
  void finish() {
    for (auto* pool : {&scans, &files, &copy_writes, &copy_reads, &copy_lists, &weights, &mesh_files, &verification,
                       &bodies, &uploads})
      pool->finish();
  }
  // The same for pools whose disks may hang; waits at most for `limit` each. False: a job still runs.
  bool finish_within(Millis limit) {
    for (auto* pool : {&scans, &files, &copy_writes, &copy_reads, &copy_lists, &weights, &mesh_files, &verification})
      if (!pool->finish_within(limit)) return false;
    return true;
  }
};

}  // namespace corral::app
