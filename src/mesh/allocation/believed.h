// Which report of a file's size, memory and layers is used if several nodes have the file. A node that is mistaken, or
// lies, must not decide for all: neither that a model fits nowhere, nor how it is split. Pure, the same for any
// order of its input.
//
// An impossible report is left out: another size than most report for the same content, more weights in its layers than
// bytes in its files, or more additional memory (cells, buffers) than kOftenFiles times the files and kBesides. Of the
// rest the median is used, of two the smaller. If the reported need is too small, a node notices it at the
// load; if it is too large, no node would try.
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
  SplitModel shape;         // no layers: no node has reported them
};
// Of one content, in any order; none: all zero.
Believed believed(std::span<const ModelOnDisk* const> reports);

// The need at one of those nodes alone: its own settings (such as `ctx_size`) decide its loads. The believed need if
// its files have another size.
std::uint64_t own_need(const ModelOnDisk& report, const Believed& all);
// With that node as host: the believed weights, with its own cells and buffers unless its report is impossible.
SplitModel own_shape(const ModelOnDisk& report, const Believed& all);

}  // namespace corral::mesh
