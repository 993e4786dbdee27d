// Nodes as the server has them: real networks on loopback, real folders.
#include "fleet/node/node.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "fleet/base/errors.h"
#include "fleet/membership/start_record.h"
#include "fleet/node/nodes_fixture_for_tests.h"
#include "mesh/identity/errors.h"
#include "mesh/identity/identity.h"
#include "mesh/members/member_store.h"

namespace corral::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class NodeTest : public NodesFixture {
 protected:
  NodeOptions options(const std::string& name) {
    NodeOptions made;
    made.folder = folder_.path() / name;
    made.listen = {"127.0.0.1", 0};
    made.name = name;
    return made;
  }
  Node& start(const std::string& name) { return start(options(name)); }
  Node& start(NodeOptions with) { return launch(std::move(with)); }
  // One that founds a mesh and can be reached.
  Node& founder(const std::string& name = "a") {
    auto& node = start(name);
    EXPECT_TRUE(wait(node.create()));
    EXPECT_TRUE(until([&] { return node.view()->listening.has_value(); }));
    return node;
  }
  mesh::JoinToken token_of(Node& node) {
    const auto made = wait(node.ask(&MemberRuntime::invite, std::chrono::hours(1)));
    EXPECT_TRUE(made) << made.error().message;
    return *mesh::parse_token(made->text);
  }
};

TEST_F(NodeTest, WithoutAMeshThereIsNoFileAndNothingRuns) {
  auto& node = start("a");
  EXPECT_EQ(node.view()->phase, MeshPhase::none);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
  EXPECT_EQ(wait(node.ask(&MemberRuntime::invite, std::chrono::hours(1))).error().code, errc::no_mesh);
  EXPECT_EQ(wait(node.leave()).error().code, errc::no_mesh);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
}

TEST_F(NodeTest, OneFoundsAndAnotherJoinsWithItsToken) {
  auto& a = founder();
  EXPECT_EQ(a.view()->phase, MeshPhase::member);
  EXPECT_EQ(wait(a.create()).error().code, errc::in_a_mesh);
  auto& b = start("b");
  std::vector<std::string> steps;
  const auto joined = wait(b.join(token_of(a), [&](JoinProgress progress) {
    steps.emplace_back(mesh::name_of(progress.step));
    EXPECT_GT(progress.limit.count(), 0);
  }));
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_THAT(steps, ElementsAre("dial", "proof", "admit", "members"));
  EXPECT_EQ((*joined)->mesh, a.view()->mesh);
  EXPECT_THAT((*joined)->nodes, SizeIs(2));
  EXPECT_TRUE(until([&] { return a.view()->nodes.size() == 2; }));
  EXPECT_TRUE(until([&] { return a.view()->open_tokens == 0; }));
  struct stat folder{};
  ASSERT_EQ(::stat((folder_.path() / "b").c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777, 0700u);
}

TEST_F(NodeTest, ItIsTheSameNodeAfterARestart) {
  auto& a = founder();
  auto& b = start("b");
  ASSERT_TRUE(wait(b.join(token_of(a), {})));
  const auto before = b.view();
  end(b);
  auto& again = start("b");
  ASSERT_TRUE(until([&] { return again.view()->phase == MeshPhase::member; }));
  EXPECT_EQ(again.view()->self, before->self);
  EXPECT_EQ(again.view()->mesh, before->mesh);
  EXPECT_EQ(again.view()->epoch, before->epoch + 1);
}

// Started again without --join it was a plain member, and its wish was lost.
TEST_F(NodeTest, AWorkerThatJoinedAtItsStartStaysOneUntilItLeaves) {
  auto& a = founder();
  auto with = options("b");
  with.joins = with.role_is_open = true;
  with.role = mesh::Role::worker;
  with.wants = parse_wants("m");
  with.wants_of_start = true;
  with.assigned_at_start = "m";
  auto& b = start(with);
  ASSERT_TRUE(wait(b.join(token_of(a), {})));
  EXPECT_EQ(b.view()->role, mesh::Role::worker);
  end(b);
  auto plain = options("b");
  plain.role_is_open = true;
  auto& again = start(plain);
  ASSERT_TRUE(until([&] { return again.view()->phase == MeshPhase::member; }));
  EXPECT_EQ(again.view()->role, mesh::Role::worker);
  // Settings change while it runs: nothing is read on the loop of the mesh then.
  std::filesystem::remove(folder_ / "b" / kStartFile);
  plain.name = "renamed";
  again.change(plain);
  ASSERT_TRUE(until([&] { return again.view()->name == "renamed"; }));
  EXPECT_EQ(again.view()->role, mesh::Role::worker);
  ASSERT_TRUE(wait(again.leave()));
  EXPECT_EQ(again.view()->role, mesh::Role::member);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b" / "start.json"));
}

// A start.json that outlived its membership made the next founder a worker.
TEST_F(NodeTest, ANewMembershipHasNothingOfTheStartOfAnEarlierOne) {
  auto& a = founder();
  end(a);
  std::filesystem::remove(folder_ / "a" / mesh::kMembersFile);
  keep_start(folder_ / "a", {.worker = true});
  auto& again = founder();
  end(again);
  auto plain = options("a");
  plain.role_is_open = true;
  auto& third = start(plain);
  ASSERT_TRUE(until([&] { return third.view()->phase == MeshPhase::member; }));
  EXPECT_EQ(third.view()->role, mesh::Role::member);
}

// Right after its start a node has not heard of its peers, so it must not report that no node has a model.
TEST_F(NodeTest, ANodeThatStartsInAMeshExpectsItsPeersToSpeak) {
  auto& a = founder();
  end(a);
  auto& again = make(options("a"));
  EXPECT_EQ(again.view()->catalog, nullptr);
  again.start();
  const auto catalog = again.view()->catalog;
  ASSERT_TRUE(catalog);
  if (again.view()->phase != MeshPhase::member) {
    EXPECT_TRUE(catalog->nodes().front().expected_until);
  }
  ASSERT_TRUE(until([&] { return again.view()->phase == MeshPhase::member; }));
}

TEST_F(NodeTest, ATokenIsForOneNodeAndARefusalNamesItsStep) {
  auto& a = founder();
  auto& b = start("b");
  auto& c = start("c");
  const auto token = token_of(a);
  (void)token_of(a);  // another one is out, so strangers may knock
  ASSERT_TRUE(wait(b.join(token, {})));
  const auto refused = wait(c.join(token, {}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, mesh::errc::token_used);
  EXPECT_THAT(refused.error().message, HasSubstr("'proof'"));
  EXPECT_EQ(c.view()->phase, MeshPhase::none);
  EXPECT_TRUE(until([&] { return a.view()->nodes.size() == 2; }));
}

TEST_F(NodeTest, LeavingForgetsTheMeshAndTheKey) {
  auto& a = founder();
  const auto self = a.view()->self;
  ASSERT_TRUE(wait(a.leave()));
  EXPECT_EQ(a.view()->phase, MeshPhase::none);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "a"));
  ASSERT_TRUE(wait(a.create()));
  EXPECT_NE(a.view()->self, self);
}

TEST_F(NodeTest, AThrownOutNodeIsGone) {
  auto& a = founder();
  auto& b = start("b");
  ASSERT_TRUE(wait(b.join(token_of(a), {})));
  ASSERT_TRUE(until([&] { return a.view()->nodes.size() == 2; }));
  const auto id = mesh::to_text(b.view()->self);
  EXPECT_EQ(wait(a.ask(&MemberRuntime::revoke, "nobody", false)).error().code, errc::node_not_found);
  EXPECT_EQ(wait(a.ask(&MemberRuntime::revoke, "a", false)).error().code, errc::own_node);
  const auto revoked = wait(a.ask(&MemberRuntime::revoke, id.substr(0, 12), false));
  ASSERT_TRUE(revoked) << revoked.error().message;
  EXPECT_TRUE(until([&] { return a.view()->nodes.size() == 1; }));
}

TEST_F(NodeTest, NodesKnowEachOtherByNameAndWhatTheyHave) {
  auto& a = founder();
  auto& b = start("b");
  ASSERT_TRUE(wait(b.join(token_of(a), {})));
  const auto sees = [](Node& node, const char* name) {
    const auto view = node.view();
    const auto found = find_node(*view, name);
    return found && (*found)->reach == mesh::Reach::linked && (*found)->node_state;
  };
  ASSERT_TRUE(until([&] { return sees(a, "b") && sees(b, "a"); }));
  MachineFacts facts;
  std::vector<models::ModelInfo> models(1);
  models[0].name = ModelName("tiny");
  models[0].size = Bytes(1000);
  facts.catalog = std::make_shared<const models::Catalog>(std::move(models), std::vector<models::Problem>(),
                                                          std::vector<models::Problem>());
  b.set_facts(facts);
  EXPECT_TRUE(until([&] { return a.view()->catalog->find("tiny").model != nullptr; }));
}

TEST_F(NodeTest, TwoMachinesWithOneHostNameAreToldApart) {
  auto& a = founder("vm");
  auto with = options("vm-2");
  with.name = "vm";
  auto& b = start(std::move(with));
  ASSERT_TRUE(wait(b.join(token_of(a), {})));
  const auto shown = [](const Node& node) { return "vm@" + mesh::short_text(node.view()->self); };
  for (const auto* at : {&a, &b}) {
    ASSERT_TRUE(until([&] {
      const auto view = at->view();
      return view->name_of(a.view()->self) == shown(a) && view->name_of(b.view()->self) == shown(b);
    }));
    EXPECT_EQ(at->view()->name, shown(*at));
  }
  const auto all = wait(a.doctor());
  EXPECT_TRUE(std::ranges::any_of(all, [&](const Finding& finding) { return finding.node == shown(b); }));
  EXPECT_EQ(find_node(*a.view(), "vm").error().code, errc::node_ambiguous);
}

TEST_F(NodeTest, TheDoctorHasPeersDialBack) {
  auto& a = founder();
  auto& b = start("b");
  ASSERT_TRUE(wait(b.join(token_of(a), {})));
  ASSERT_TRUE(until([&] {
    const auto found = find_node(*a.view(), "b");
    return found && (*found)->reach == mesh::Reach::linked;
  }));
  for (auto* node : {&a, &b}) {
    const auto findings = wait(node->doctor());
    const auto reached = std::ranges::find(findings, "reached", &Finding::step);
    ASSERT_NE(reached, findings.end());
    EXPECT_EQ(reached->verdict, CheckStatus::fine) << reached->text;
    EXPECT_THAT(reached->text, HasSubstr("127.0.0.1:"));
  }
}

TEST_F(NodeTest, WhoIsThrownOutLearnsItAndCanOnlyLeave) {
  auto& a = founder();
  auto& b = start("b");
  ASSERT_TRUE(wait(b.join(token_of(a), {})));
  ASSERT_TRUE(until([&] {
    const auto found = find_node(*a.view(), "b");
    return found && (*found)->reach == mesh::Reach::linked;
  }));
  ASSERT_TRUE(wait(a.ask(&MemberRuntime::revoke, "b", false)));
  ASSERT_TRUE(until([&] { return b.view()->phase == MeshPhase::revoked; }));
  EXPECT_EQ(wait(b.join(token_of(a), {})).error().code, errc::in_a_mesh);
  ASSERT_TRUE(wait(b.leave()));
  ASSERT_TRUE(wait(b.join(token_of(a), {})));
}

TEST_F(NodeTest, PeersComeBeforeTheyAreUsedAndGoAfter) {
  auto& node = start("a");
  std::vector<bool> there;
  node.on_peers([&](mesh::Peers* peers) { there.push_back(peers != nullptr); });
  ASSERT_TRUE(wait(node.create()));
  ASSERT_TRUE(wait(node.leave()));
  ASSERT_TRUE(wait(node.create()));
  end(node);
  EXPECT_THAT(there, ElementsAre(true, false, true, false));
}

TEST_F(NodeTest, MembersThatCantBeReadStopTheMeshAndNothingElse) {
  auto& a = founder();
  end(a);
  {
    std::ofstream file(folder_.path() / "a" / "members", std::ios::trunc);
    file << "nonsense";
  }
  auto& again = start("a");
  ASSERT_TRUE(until([&] { return again.view()->phase == MeshPhase::broken; }));
  EXPECT_THAT(again.view()->problem, HasSubstr("members"));
  EXPECT_EQ(wait(again.create()).error().code, errc::in_a_mesh);
  EXPECT_TRUE(wait(again.leave()));
  EXPECT_TRUE(wait(again.create()));
}

TEST_F(NodeTest, AKeyThatSomebodyProvidesIsUsedAndStays) {
  const auto file = folder_ / "key.pem";
  const auto key = mesh::SigningKey::generate();
  {
    std::ofstream out(file);
    out << key.to_pem();
  }
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  auto with = options("a");
  with.identity = file;
  auto& node = start(with);
  ASSERT_TRUE(wait(node.create()));
  EXPECT_EQ(node.view()->self, key.id());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a" / mesh::kIdentityFile));
  ASSERT_TRUE(wait(node.leave()));
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(NodeOptions, AnyPortToListenOnIsSaidByZero) {
  EXPECT_EQ(parse_listen("127.0.0.1:0"), (mesh::Address{"127.0.0.1", 0}));
  EXPECT_EQ(parse_listen("[::]:0"), (mesh::Address{"::", 0}));
  EXPECT_EQ(parse_listen("0.0.0.0:8100"), (mesh::Address{"0.0.0.0", 8100}));
  EXPECT_EQ(parse_listen("10.0.0.1:80"), (mesh::Address{"10.0.0.1", 80}));
}

TEST_F(NodeTest, TokensAreListedAndTakenBack) {
  auto& a = founder();
  (void)token_of(a);
  const auto listed = wait(a.ask(&MemberRuntime::tokens));
  ASSERT_THAT(*listed, SizeIs(1));
  EXPECT_TRUE(until([&] { return a.view()->open_tokens == 1; }));
  ASSERT_TRUE(wait(a.ask(&MemberRuntime::withdraw, mesh::short_text(listed->front().id))));
  EXPECT_EQ(wait(a.ask(&MemberRuntime::tokens))->front().state, mesh::IssuedToken::State::withdrawn);
}

}  // namespace
}  // namespace corral::fleet
