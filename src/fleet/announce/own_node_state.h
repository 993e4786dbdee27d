// Makes this node's state from the known facts of this machine. Pure.
//
// Values that change all the time without meaning (free memory by a page, idle milliseconds of a model) are announced
// in steps, so that an idle node announces nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/sha256.h"
#include "device/memory_pool.h"
#include "fleet/base/node_options.h"
#include "mesh/catalog/node_state.h"
#include "mesh/identity/address.h"
#include "models/catalog.h"
#include "router/model_router.h"
#include "router/options/model_context.h"

namespace corral::fleet {

// The known state of this machine at one moment.
struct MachineFacts {
  std::shared_ptr<const models::Catalog> catalog;      // nullptr: not scanned yet
  std::map<ModelName, router::ModelContext> contexts;  // of its models, as far as known
  std::map<ModelName, Sha256> contents;                // of its models, as far as known
  std::map<ModelName, double> rates;                   // tokens/s, measured
  std::vector<mesh::WeightSpeed> weight_speeds;        // of this machine, measured; empty: not yet
  std::vector<mesh::Demand> demand;                    // at this node, in steps
  router::Report report;
  device::MemoryPools memory;
  std::uint64_t disk_free = 0;  // of the state folder
};

// The announced step of an idle time: 0, a second, a minute, then doubled. `limit`, after which this node unloads an
// idle model, is a step as well: otherwise the model would stay until the next one. In milliseconds.
std::uint64_t idle_steps(Millis idle, Millis limit);

// Without links, which gossip adds. Facts without a catalog make a state without models.
mesh::NodeState make_node_state(const NodeOptions& options, const MachineFacts& facts,
                                const std::vector<mesh::Address>& addresses);

}  // namespace corral::fleet
