// What counts of a file's size, memory and layers where several nodes have it. Each says what it knows, and one that is
// mistaken, or lies, mustn't decide for all: neither that a model fits nowhere, nor how it would be split. Pure, the
// same for any order of its input.
//
// A word is left out where it can't be true: it is of another size than what most say of the same content, it has more
// weights in its layers than bytes in its files, or it takes more besides (cells, buffers) than kOftenFiles times them
// and kBesides. Of what is left the middle one counts, of two the smaller: a node that can't hold what others believe
// of it finds that out by loading it, while a model that is believed too large is tried by nobody.
#pragma once

#include <cstdint>
#include <span>

#include "mesh/allocation/split_plan.h"
#include "mesh/catalog/node_state.h"

namespace corral::mesh {

inline constexpr std::uint64_t kOftenFiles = 16, kBesides = std::uint64_t{8} << 30;

struct Believed {
  std::uint64_t bytes = 0;  // of its files
  std::uint64_t need = 0;   // of memory, on one node; never less than its files
  SplitModel shape;         // no layers: nobody has said so
};
// Of one content, in any order; none: all zero.
Believed believed(std::span<const ModelOnDisk* const> said);

// What counts for one of those nodes alone, whatever is believed: its settings (`ctx_size`, say) are its own, and a
// load there goes by them. Of other files (another size), and of what can't be true, nothing counts.
std::uint64_t own_need(const ModelOnDisk& said, const Believed& all);
// As that node hosts it: the weights that are believed, with its own cells and buffers.
SplitModel own_shape(const ModelOnDisk& said, const Believed& all);

}  // namespace corral::mesh
