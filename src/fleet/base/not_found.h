// Why a name finds no model in the mesh. Inference, `plan` and copies give the same text and status. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "mesh/catalog/catalog.h"

namespace corral::fleet {

// models::errc::model_not_found.
Error unknown_model(std::string_view name);
// `found`: the catalog's result for the name, which is no available model. Errors: ambiguous_model, with the
// unambiguous names; out_of_reach, with retry_after, if all nodes with the model are away or have not announced
// anything yet; else unknown_model(). Error::param is "model".
Error why_not_found(const mesh::Catalog& catalog, std::string_view name, const mesh::Catalog::Found& found,
                    MonoTime now);

}  // namespace corral::fleet
