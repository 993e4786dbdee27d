// Reports of the router: loaded models, shares, counts. Plain values, each a consistent copy of one moment.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/wrapped_server.h"
#include "residency/snapshot.h"
#include "router/base/metrics.h"
#include "router/instances/memory_sampler.h"
#include "router/instances/process_manager.h"

namespace corral::router {

// One loaded or loading model, with the state of its process.
struct InstanceReport {
  residency::InstanceView view;
  backends::ServerFacts facts;
  backends::ModelPtr model;
  backends::LoadOptions options;
  bool streaming = false;        // at least one of its answers is a stream
  Device device = Device::none;  // that it computes on: reported by its process, predicted before that
};

// A share of another node's model. No request can name it.
struct ShareReport {
  InstanceReport instance;
  ShareOf of;
};

struct Report {
  residency::Snapshot snapshot;  // `instances` includes shares, `loading` does not
  std::vector<InstanceReport> instances;
  std::vector<ShareReport> shares;
  std::optional<double> load_progress;  // of snapshot.loading
  WallTime time;                        // of the copy
};

// All counters, and a report of the same moment.
struct MetricsReport {
  Report report;
  Metrics models;  // of each model that was requested or loaded since the start
  Millis uptime{0};
};

// What uses the memory of this machine, and what would be reclaimed next.
struct MemoryReport {
  struct User {
    residency::InstanceId instance;
    std::vector<MemoryParts> parts;
  };
  Report report;
  residency::Outlook outlook;     // of the moment of the report
  double threshold = 0;           // used share of a pool above which idle models are evicted
  std::vector<PoolReport> pools;  // empty: free memory is unknown
  std::vector<User> users;        // instances, shares and the running load, as far as their memory is known
};

// A model in memory, for queries to its process. Does not keep it in memory.
struct Resident {
  ModelName model;
  std::shared_ptr<RunningInstance> running;

  // For use on `executor`'s loop.
  http::Target& target(async::Executor executor) const;
};

// The effect of simulated memory pressure.
struct PressureReport {
  std::vector<ModelName> downsized;
  std::vector<ModelName> evicted;
};

struct UnloadReport {
  std::vector<ModelName> unloaded;
  std::vector<ModelName> draining;  // requests still run on them
};

// On the home loop, all of them.
MemoryReport memory_report_of(const CoreDriver& driver, const ProcessManager& processes, const MemorySampler* sampler,
                              const device::MemoryPools& pools);
Report report_of(const CoreDriver& driver, const ProcessManager& processes);
std::vector<Resident> residents_of(const CoreDriver& driver, const ProcessManager& processes);

}  // namespace corral::router
