#include "protocol/answers/metrics_merge.h"

#include <gtest/gtest.h>

namespace corral::protocol {
namespace {

std::string merged(const MetricsMerge& merge) {
  std::string text;
  merge.append_to(text);
  return text;
}

TEST(MetricsMerge, FamiliesOfSeveralProgramsComeTogether) {
  MetricsMerge merge;
  merge.add(
      "# HELP steps_total Steps\n# TYPE steps_total counter\nsteps_total{model=\"a\",worker=\"0\"} 3\n"
      "# HELP wait Waiting\n# TYPE wait histogram\nwait_bucket{model=\"a\",le=\"+Inf\"} 1\nwait_sum{model=\"a\"} 2\n"
      "wait_count{model=\"a\"} 1\n",
      {"model", "a"});
  merge.add("# HELP steps_total Steps\n# TYPE steps_total counter\nsteps_total{model=\"b\",worker=\"0\"} 4\n",
            {"model", "b"});
  EXPECT_EQ(merged(merge),
            "# HELP steps_total Steps\n# TYPE steps_total counter\n"
            "steps_total{model=\"a\",worker=\"0\"} 3\nsteps_total{model=\"b\",worker=\"0\"} 4\n"
            "# HELP wait Waiting\n# TYPE wait histogram\nwait_bucket{model=\"a\",le=\"+Inf\"} 1\n"
            "wait_sum{model=\"a\"} 2\nwait_count{model=\"a\"} 1\n");
}

TEST(MetricsMerge, SamplesWithoutTheLabelGetIt) {
  MetricsMerge merge;
  merge.add("up 1\nload{} 0.5\nload{device=\"x}\\\"y\",submodel=\"z\"} 0.25 123\n", {"model", "a\"b"});
  EXPECT_EQ(merged(merge),
            "up{model=\"a\\\"b\"} 1\nload{model=\"a\\\"b\"} 0.5\n"
            "load{model=\"a\\\"b\",device=\"x}\\\"y\",submodel=\"z\"} 0.25 123\n");
}

TEST(MetricsMerge, WhatIsNoMetricIsLeftOut) {
  MetricsMerge merge;
  merge.add("<html>\n\n# EOF\n# HELP 7up x\nname-with-dash 3\nunclosed{a=\"b 3\nlonely\nlast_line 1", {"model", "a"});
  EXPECT_EQ(merged(merge), "last_line{model=\"a\"} 1\n");
}

}  // namespace
}  // namespace corral::protocol
