// What this node says of itself, made of what is known of this machine. Pure.
//
// What changes all the time without meaning anything (free memory by a page, the milliseconds that a model is idle) is
// told in steps, so that a node at rest says nothing.
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

// What is known of this machine at one moment.
struct MachineFacts {
  std::shared_ptr<const models::Catalog> catalog;      // nullptr: not looked at yet
  std::map<ModelName, router::ModelContext> contexts;  // of its models, as far as known
  std::map<ModelName, Sha256> contents;                // the same
  std::map<ModelName, double> rates;                   // tokens/s, measured
  std::vector<mesh::WeightSpeed> weight_speeds;        // of this machine, measured; empty: not yet
  std::vector<mesh::Demand> demand;                    // at this node, in steps
  router::Report report;
  device::MemoryPools memory;
  std::uint64_t disk_free = 0;  // of the state folder
};

// How long something has been idle, as others are told: 0, a second, a minute, then doubled. In milliseconds.
std::uint64_t idle_steps(Millis idle);

// Without links, which gossip fills in. Facts without a catalog say nothing of models.
mesh::NodeState make_statement(const NodeOptions& options, const MachineFacts& facts,
                               const std::vector<mesh::Address>& addresses);

}  // namespace corral::fleet
