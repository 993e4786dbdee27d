// Why a name finds no model in the mesh: the same words and status for requests, for people who ask where a model would
// be served, and for those who want a copy of it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "mesh/catalog/catalog.h"

namespace corral::fleet {

// As the node calls itself, now or in its last life; else the first digits of its id.
std::string name_of(const mesh::Catalog& catalog, const mesh::NodeId& id);

// models::errc::model_not_found.
Error nobody_has(std::string_view name);
// `found`: what `catalog` says of that name, which is no model that a node has. ambiguous_model, with the names that
// tell them apart; out_of_reach, with retry_after, where only nodes have it that are away or haven't spoken yet; else
// nobody_has(). Error::param is "model".
Error why_not_found(const mesh::Catalog& catalog, std::string_view name, const mesh::Catalog::Found& found,
                    MonoTime now);

}  // namespace corral::fleet
