#include "fleet/membership/doctor.h"

#include <gmock/gmock.h>

#include "mesh/identity/errors.h"

namespace corral::fleet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

mesh::NodeId id(std::uint8_t number) {
  mesh::NodeId made;
  made.bytes[0] = number;
  return made;
}

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() {
    options.version = "1";
    options.llama_version = "2";
    view.phase = MeshPhase::member;
    view.listening = mesh::Address{"0.0.0.0", 8100};
    view.advertised = {{"10.0.0.1", 8100}};
    view.nodes.push_back({.id = id(0), .name = "own", .reach = mesh::Reach::own});
    NodeView other{.id = id(1), .name = "other", .reach = mesh::Reach::linked};
    other.round_trip = Millis(1);
    state.version = "1";
    state.engine = "2";
    other.node_state = std::make_shared<const mesh::NodeState>(state);
    view.nodes.push_back(other);
    found.disk_free = 1ull << 40;
    found.probes[id(1)].emplace("10.0.0.1:8100", ProbeResult{});
  }
  // "verdict step node", for what isn't fine.
  std::vector<std::string> troubles() {
    std::vector<std::string> texts;
    for (const auto& finding : examine(view, options, found)) {
      if (finding.verdict == CheckStatus::fine) continue;
      texts.push_back(std::string(name_of(finding.verdict)) + " " + finding.step + " " + finding.node);
    }
    return texts;
  }
  std::string text_of(const std::string& step) {
    for (const auto& finding : examine(view, options, found))
      if (finding.step == step) return finding.text;
    return {};
  }
  NodeView& other() { return view.nodes[1]; }

  NodeOptions options;
  MeshView view;
  mesh::NodeState state;
  Examination found;
};

TEST_F(DoctorTest, WhatTheKernelWithholdsOfTheSandboxIsTold) {
  found.sandbox = proc::Sandboxed{.missing = {{proc::Fence::processes, "not asked for"}}};
  EXPECT_THAT(troubles(), IsEmpty());
  found.sandbox = proc::Sandboxed{.missing = {{proc::Fence::namespaces, "unshare: Operation not permitted"}}};
  EXPECT_THAT(troubles(), ElementsAre("warning sandbox ", "warning worker "));
  EXPECT_THAT(text_of("worker"), HasSubstr("namespaces (unshare: Operation not permitted)"));
  EXPECT_THAT(text_of("sandbox"), HasSubstr("namespaces (unshare: Operation not permitted)"));
  found.sandbox = std::unexpected(Error({}, "no seccomp"));
  EXPECT_THAT(troubles(), ElementsAre("failed sandbox ", "warning worker "));
  EXPECT_THAT(text_of("sandbox"), HasSubstr("no seccomp"));
}

TEST_F(DoctorTest, WhereAllIsWellItSaysSoOfEachThing) {
  EXPECT_THAT(troubles(), IsEmpty());
  for (const auto* step :
       {"membership", "identity", "listen", "addresses", "disk", "link", "reached", "version", "clock"})
    EXPECT_NE(text_of(step), "") << step;
}

TEST_F(DoctorTest, OwnTroubles) {
  view.listening.reset();
  view.problem = "the port is taken";
  view.advertised.clear();
  found.identity_problem = "gone";
  found.disk_free = 1;
  EXPECT_THAT(troubles(), ElementsAre("failed identity ", "failed listen ", "failed addresses ", "warning disk "));
  EXPECT_THAT(text_of("listen"), HasSubstr("taken"));
}

TEST_F(DoctorTest, ANodeThatIsAwayIsNamedWithWhereAndWhy) {
  other().reach = mesh::Reach::away;
  other().addresses = {{"10.0.0.2", 8100}};
  other().last_end = "silent";
  found.probes.clear();
  EXPECT_THAT(troubles(), ElementsAre("failed link other"));
  EXPECT_THAT(text_of("link"), HasSubstr("10.0.0.2:8100"));
  EXPECT_THAT(text_of("link"), HasSubstr("silent"));
}

TEST_F(DoctorTest, OneOfSeveralAddressesIsEnoughToBeReached) {
  found.probes[id(1)].emplace("172.17.0.1:8100", ProbeResult{.problem = "refused"});
  EXPECT_THAT(troubles(), IsEmpty());
  found.probes[id(1)].clear();
  found.probes[id(1)].emplace("10.0.0.1:8100", ProbeResult{.problem = "refused"});
  EXPECT_THAT(troubles(), ElementsAre("warning reached other"));
  EXPECT_THAT(text_of("reached"), HasSubstr("mesh_listen"));
  found.probes[id(1)].clear();
  found.probes[id(1)].emplace("10.0.0.1:8100", Result<ProbeResult>(fail(mesh::errc::timed_out, "no answer")));
  EXPECT_THAT(troubles(), ElementsAre("warning reached other"));
}

TEST_F(DoctorTest, OtherVersionsOddClocksAndSlowLinksAreWarnings) {
  state.version = "3";
  other().node_state = std::make_shared<const mesh::NodeState>(state);
  other().round_trip = Millis(80);
  found.probes[id(1)].clear();
  found.probes[id(1)].emplace("10.0.0.1:8100", ProbeResult{.clock_ahead = Millis(-3'600'000)});
  EXPECT_THAT(troubles(), ElementsAre("warning link other", "warning clock other", "warning version other"));
  EXPECT_THAT(text_of("clock"), HasSubstr("3600 s behind"));
}

TEST_F(DoctorTest, NodesThatTheSettingsNameAreLookedFor) {
  found.named[id(7)] = "nobody answers at 10.0.0.7:8100";
  EXPECT_THAT(troubles(), ElementsAre("warning named "));
  EXPECT_THAT(text_of("named"), HasSubstr("nobody answers at 10.0.0.7:8100"));
  view.phase = MeshPhase::joining;
  view.unmet = {{id(7), "it is in a mesh, and its settings don't name this node"}};
  options.peers = {{id(7), {"10.0.0.7", 8100}}};
  EXPECT_THAT(troubles(), ElementsAre("warning membership ", "warning named "));
  EXPECT_THAT(text_of("named"), HasSubstr("don't name this node"));
  EXPECT_THAT(text_of("membership"), HasSubstr("lowest identifier"));
}

TEST_F(DoctorTest, WithoutAMeshThereIsNothingToLookAt) {
  for (const auto phase : {MeshPhase::none, MeshPhase::broken, MeshPhase::revoked}) {
    view.phase = phase;
    EXPECT_THAT(troubles(), Contains(HasSubstr("membership"))) << name_of(phase);
  }
}

TEST(ProbeFrames, ComeBackAsTheyWere) {
  const auto ask = read_probe_ask(to_frame(ProbeAsk{7, {"fd00::1", 9}}).payload);
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->number, 7u);
  EXPECT_EQ(ask->address, (mesh::Address{"fd00::1", 9}));
  const auto answer = read_probe_answer(to_frame(ProbeAnswer{8, WallTime(Millis(12'345)), "no"}).payload);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->number, 8u);
  EXPECT_EQ(epoch_millis(answer->time), 12'345);
  EXPECT_EQ(answer->problem, "no");
  EXPECT_FALSE(read_probe_ask("short"));
  EXPECT_FALSE(read_probe_answer(""));
  EXPECT_FALSE(read_probe_ask(std::string(8, '\0') + std::string("\0\3abc", 5)));
}

}  // namespace
}  // namespace corral::fleet
