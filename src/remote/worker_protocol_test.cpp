#include "remote/worker_protocol.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::remote {
namespace {

using testing::ElementsAre;

TEST(WorkerProtocol, WhatIsSaidIsUnderstood) {
  const WorkerReady sent{.llama = "0.5.0",
                         .devices = {{"CUDA0", "a \"GPU\"", true, 80ull << 30, 79ull << 30}, {"CPU", "", false, 8, 4}},
                         .open = {"landlock: not in this kernel"}};
  const auto line = to_line(sent);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto event = parse_worker_event(line);
  ASSERT_TRUE(event);
  const auto& parsed = std::get<WorkerReady>(*event);
  EXPECT_EQ(parsed.llama, "0.5.0");
  ASSERT_EQ(parsed.devices.size(), 2u);
  EXPECT_EQ(parsed.devices[0].description, "a \"GPU\"");
  EXPECT_TRUE(parsed.devices[0].gpu);
  EXPECT_EQ(parsed.devices[0].memory_total, 80ull << 30);
  EXPECT_EQ(parsed.devices[1].memory_free, 4u);
  EXPECT_THAT(parsed.open, ElementsAre("landlock: not in this kernel"));
}

TEST(WorkerProtocol, AFailureSaysWhy) {
  const auto event = parse_worker_event(to_line(WorkerFailed{"no port"}));
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<WorkerFailed>(*event).message, "no port");
}

TEST(WorkerProtocol, OtherLinesAreRefused) {
  EXPECT_FALSE(parse_worker_event("{}"));
  EXPECT_FALSE(parse_worker_event("ready"));
  // A worker is somebody else's program as soon as it has been taken over.
  for (const auto* number : {"1e300", "-1", "1e19", "18446744073709551615"}) {
    const auto odd = parse_worker_event(fmt::format(R"({{"ready":{{"devices":[{{"memory_free":{}}}]}}}})", number));
    ASSERT_FALSE(odd) << number;
    EXPECT_EQ(odd.error().param, "memory_free");
    EXPECT_THAT(odd.error().message, testing::HasSubstr("memory_free"));
  }
  const auto empty = parse_worker_event(R"({"ready":{"devices":7,"open":[1]}})");
  ASSERT_TRUE(empty);
  EXPECT_TRUE(std::get<WorkerReady>(*empty).devices.empty());
}

}  // namespace
}  // namespace corral::remote
