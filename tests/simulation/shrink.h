// Makes a failing list short: leaves out halves, quarters, ... single elements as long as it still fails (delta
// debugging, Zeller and Hildebrandt 2002), then makes what is left simpler.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace corral::simulation {

// `fails(list)` says whether the list still shows the failure; `simpler(element)` gives variants to try, simplest
// first; `merged(a, b)` gives one element for two neighbours, if there is one.
template <typename T, typename Fails, typename Simpler, typename Merged>
std::vector<T> shrink(std::vector<T> list, const Fails& fails, const Simpler& simpler, const Merged& merged) {
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t chunk = std::max<std::size_t>(list.size() / 2, 1); chunk > 0; chunk /= 2) {
      for (std::size_t at = 0; at < list.size();) {
        std::vector<T> shorter = list;
        const auto begin = shorter.begin() + static_cast<std::ptrdiff_t>(at);
        shorter.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(chunk, shorter.size() - at)));
        if (fails(shorter)) {
          list = std::move(shorter);
          progress = true;
        } else {
          at += chunk;
        }
      }
    }
    for (std::size_t at = 0; at + 1 < list.size();) {
      const auto one = merged(list[at], list[at + 1]);
      std::vector<T> shorter = list;
      if (one) {
        shorter[at] = *one;
        shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      }
      if (one && fails(shorter)) {
        list = std::move(shorter);
        progress = true;
      } else {
        ++at;
      }
    }
    for (std::size_t at = 0; at < list.size(); ++at) {
      for (const T& variant : simpler(list[at])) {
        std::vector<T> changed = list;
        changed[at] = variant;
        if (!fails(changed)) continue;
        list = std::move(changed);
        progress = true;
        break;
      }
    }
  }
  return list;
}

}  // namespace corral::simulation
