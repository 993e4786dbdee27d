// Merges the metrics of several programs into one text: the samples of a family come together under one head, and a
// label identifies the program of each sample.
//
//   MetricsMerge merge;
//   merge.add(text_of_a, {"model", "a"});
//   merge.append_to(out);
//
// Plain text; one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/answers/metrics_text.h"

namespace corral::protocol {

class MetricsMerge {
 public:
  // Adds the label to samples without it. Lines that are neither samples nor heads of families are dropped.
  void add(std::string_view text, const MetricLabel& label);
  // Writes families in the order of their first occurrence.
  void append_to(std::string& out) const;

 private:
  struct Family {
    std::string help, type, samples;  // whole lines
  };
  Family& family(std::string_view name);
  void head(std::string_view line);
  void sample(std::string_view line, const MetricLabel& label);

  std::vector<Family> families_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::string current_;  // the family of the latest head
};

}  // namespace corral::protocol
