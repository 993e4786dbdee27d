// The table, put together. See option.h for what a row yields.
#include <vector>

#include "config/options/option_tables.h"

namespace corral::config {

std::span<const Option> options() {
  static const auto all = [] {
    std::vector<Option> rows;
    for (const auto part : {access_options(), models_options(), mesh_options(), store_options(), process_options()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

}  // namespace corral::config
