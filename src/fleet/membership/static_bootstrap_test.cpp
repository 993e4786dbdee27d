// Nodes that come together because their settings name each other. Real networks on loopback, real folders.
#include "fleet/membership/static_bootstrap.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "fleet/node/nodes_fixture_for_tests.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

mesh::NodeId node_id(std::uint8_t number) {
  mesh::NodeId made;
  made.bytes[0] = number;
  return made;
}

TEST(Founding, OnlyTheLowestFoundsAndOnlyWhenNobodyHasAMesh) {
  EXPECT_FALSE(founds(node_id(1), {}));
  EXPECT_FALSE(founds(node_id(1), {{node_id(2), std::nullopt}}));
  EXPECT_TRUE(founds(node_id(1), {{node_id(2), BootstrapReply::silence}}));
  EXPECT_TRUE(founds(node_id(1), {{node_id(2), BootstrapReply::silence}, {node_id(3), BootstrapReply::wrong_node}}));
  EXPECT_FALSE(founds(node_id(1), {{node_id(2), BootstrapReply::silence}, {node_id(3), BootstrapReply::refusal}}));
  EXPECT_FALSE(founds(node_id(2), {{node_id(1), BootstrapReply::silence}, {node_id(3), BootstrapReply::silence}}));
}

TEST(Founding, WhatAnAnswerMeans) {
  const auto answer = [](mesh::errc code) { return answer_of(Error(make_error_code(code), "why")); };
  EXPECT_EQ(answer(mesh::errc::unreachable), BootstrapReply::silence);
  EXPECT_EQ(answer(mesh::errc::bad_address), BootstrapReply::silence);  // a name that nobody knows yet
  EXPECT_EQ(answer(mesh::errc::wrong_peer), BootstrapReply::wrong_node);
  EXPECT_EQ(answer(mesh::errc::handshake_failed), BootstrapReply::wrong_node);
  for (const auto code : {mesh::errc::not_a_member, mesh::errc::token_unknown, mesh::errc::revoked,
                          mesh::errc::timed_out, mesh::errc::unsupported_version, mesh::errc::overloaded})
    EXPECT_EQ(answer(code), BootstrapReply::refusal);
}

// The same key founds the same mesh.
TEST(Founding, IsTheSameEachTime) {
  const auto key = mesh::test_key(1).public_key();
  EXPECT_EQ(mesh::mesh_id(configured_founding(key)), mesh::mesh_id(configured_founding(key)));
  EXPECT_NE(mesh::mesh_id(configured_founding(key)),
            mesh::mesh_id(configured_founding(mesh::test_key(2).public_key())));
}

class StaticBootstrapTest : public NodesFixture {
 protected:
  StaticBootstrapTest() {
    for (unsigned i = 0; i < 4; ++i) keys_.push_back(mesh::test_key(i));
    std::ranges::sort(keys_, {}, [](const auto& key) { return key.id(); });
    for (unsigned i = 0; i < keys_.size(); ++i) {
      const auto file = identity(i);
      std::ofstream(file) << keys_[i].to_pem();
      std::filesystem::permissions(file, std::filesystem::perms::owner_read);
      places_.push_back({own_loopback(), reserve_port()});
    }
  }
  // All of 127.0.0.0/8 is this machine: at an address of this process's nobody else takes a port that was free.
  static std::string own_loopback() {
    const auto number = static_cast<unsigned>(::getpid());
    return fmt::format("127.{}.{}.{}", 64 + (number >> 16) % 64, (number >> 8) % 256, number % 256);
  }
  // Nodes of these tests must know where others will be. The socket keeps the port: no other socket gets it from the
  // system, and a node can listen there because both have SO_REUSEADDR.
  std::uint16_t reserve_port() {
    const auto& socket = reserved_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = ::inet_addr(own_loopback().c_str());
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    // Not before: the system could give one port twice.
    constexpr int kOn = 1;
    EXPECT_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    return ntohs(at.sin_port);
  }
  std::filesystem::path identity(unsigned number) const {
    return folder_.path() / ("key" + std::to_string(number) + ".pem");
  }
  std::filesystem::path folder(unsigned number) const { return folder_.path() / std::to_string(number); }
  mesh::NodeId node_id(unsigned number) const { return keys_[number].id(); }

  // Number `number` by the order of ids, with the settings of one who names those.
  Node& start(unsigned number, const std::vector<unsigned>& named) {
    NodeOptions options;
    options.folder = folder(number);
    options.identity = identity(number);
    options.listen = places_[number];
    options.name = "node" + std::to_string(number);
    for (const auto other : named) options.peers.push_back({node_id(other), places_[other]});
    return launch(std::move(options));
  }
  static bool linked(const Node& node, std::size_t others) {
    const auto view = node.view();
    const auto up = std::ranges::count(view->nodes, mesh::Reach::linked, &NodeView::reach);
    return view->phase == MeshPhase::member && static_cast<std::size_t>(up) == others;
  }

  std::vector<mesh::SigningKey> keys_;  // sorted by id
  std::vector<mesh::Address> places_;
  std::vector<UniqueFd> reserved_;
};

TEST_F(StaticBootstrapTest, ThoseWhoNameEachOtherComeTogetherInAnyOrder) {
  const std::vector<unsigned> all = {0, 1, 2};  // itself, too: the same list everywhere
  auto& third = start(2, all);
  auto& second = start(1, all);
  EXPECT_TRUE(until([&] { return third.view()->unmet.size() == 2 && second.view()->unmet.size() == 2; }));
  EXPECT_EQ(third.view()->phase, MeshPhase::joining);  // the lowest founds, nobody else
  EXPECT_EQ(third.view()->self, node_id(2));
  EXPECT_THAT(third.view()->problem, HasSubstr("mesh_peers"));
  auto& first = start(0, all);
  for (auto* node : {&first, &second, &third}) ASSERT_TRUE(until([&] { return linked(*node, 2); }));
  EXPECT_EQ(first.view()->mesh, third.view()->mesh);
  EXPECT_EQ(third.view()->problem, "");
  EXPECT_THAT(third.view()->unmet, SizeIs(0));
}

// Services whose disk doesn't last: the key is all that stays.
TEST_F(StaticBootstrapTest, WhoLostItsDiskIsTheSameNodeOfTheSameMesh) {
  auto* first = &start(0, {1});
  auto* second = &start(1, {0});
  ASSERT_TRUE(until([&] { return linked(*first, 1) && linked(*second, 1); }));
  const auto mesh = first->view()->mesh;
  for (const unsigned lost : {0u, 1u}) {
    auto*& node = lost == 0 ? first : second;
    end(*node);
    std::filesystem::remove_all(folder(lost));
    node = &start(lost, {1 - lost});
    ASSERT_TRUE(until([&] { return linked(*first, 1) && linked(*second, 1); })) << lost;
    EXPECT_EQ(node->view()->mesh, mesh);
    EXPECT_THAT(first->view()->nodes, SizeIs(2));
  }
  // All of them at once.
  for (auto* node : {first, second}) end(*node);
  for (const unsigned lost : {0u, 1u}) std::filesystem::remove_all(folder(lost));
  second = &start(1, {0});
  first = &start(0, {1});
  ASSERT_TRUE(until([&] { return linked(*first, 1) && linked(*second, 1); }));
  EXPECT_EQ(first->view()->mesh, mesh);
}

TEST_F(StaticBootstrapTest, WhomNobodyNamesIsRefusedWithTheReason) {
  auto& first = start(0, {1});
  auto& second = start(1, {0});
  ASSERT_TRUE(until([&] { return linked(first, 1) && linked(second, 1); }));
  auto& unlisted = start(2, {0});
  ASSERT_TRUE(until([&] { return !unlisted.view()->unmet.empty(); }));
  EXPECT_THAT(unlisted.view()->unmet.front().why, HasSubstr("doesn't list this node"));
  EXPECT_EQ(unlisted.view()->phase, MeshPhase::joining);
  EXPECT_THAT(first.view()->nodes, SizeIs(2));
  const auto findings = wait(unlisted.doctor());
  EXPECT_THAT(findings, Contains(testing::Field(&Finding::text, HasSubstr("doesn't list this node"))));
}

// The key that is named isn't the one that answers at that address.
TEST_F(StaticBootstrapTest, AWrongKeyIsRefusedAndChangesNothing) {
  auto& first = start(0, {1});
  ASSERT_TRUE(until([&] { return linked(first, 0); }));
  ASSERT_TRUE(until([&] { return first.view()->listening.has_value(); }));
  const auto real = places_[0];
  places_[3] = real;
  auto& second = start(1, {2, 3});  // whoever listens there isn't number 3
  auto& third = start(2, {1, 3});
  ASSERT_TRUE(until([&] { return linked(second, 1) && linked(third, 1); }));
  EXPECT_NE(second.view()->mesh, first.view()->mesh);
  EXPECT_THAT(first.view()->nodes, SizeIs(1));
  const auto findings = wait(second.doctor());
  EXPECT_THAT(findings, Contains(testing::Field(&Finding::text, HasSubstr("not the expected one"))));
}

// Thrown out is thrown out, whatever settings say.
TEST_F(StaticBootstrapTest, ARevokedNodeDoesNotComeBackByItsName) {
  auto& first = start(0, {1});
  auto& second = start(1, {0});
  ASSERT_TRUE(until([&] { return linked(first, 1) && linked(second, 1); }));
  ASSERT_TRUE(wait(first.ask(&MemberRuntime::revoke, mesh::to_text(node_id(1)), false)));
  end(second);
  std::filesystem::remove_all(folder(1));
  auto& again = start(1, {0});
  ASSERT_TRUE(until([&] { return !again.view()->unmet.empty(); }));
  EXPECT_THAT(again.view()->unmet.front().why, HasSubstr("revoked"));
  EXPECT_EQ(again.view()->phase, MeshPhase::joining);
  EXPECT_THAT(first.view()->nodes, SizeIs(1));
}

// The key of its settings stays, and is worth nothing there any more.
TEST_F(StaticBootstrapTest, WhoLeavesWithAKeyOfItsSettingsIsToldThatItNeedsANewOne) {
  auto& first = start(0, {1});
  auto& second = start(1, {0});
  ASSERT_TRUE(until([&] { return linked(first, 1) && linked(second, 1); }));
  const auto token = wait(first.ask(&MemberRuntime::invite, std::chrono::hours(1)));
  ASSERT_TRUE(wait(second.leave()));
  EXPECT_THAT(second.view()->problem, HasSubstr(identity(1).native()));
  auto parsed = mesh::parse_token(token->text);
  const auto refused = wait(second.join(std::move(*parsed), {}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, mesh::errc::revoked);
  ASSERT_TRUE(wait(second.create()));  // another mesh
  EXPECT_EQ(second.view()->problem, "");
}

// What a person asks for doesn't wait for the looking.
TEST_F(StaticBootstrapTest, FoundingByHandEndsTheLooking) {
  auto& node = start(1, {0});
  ASSERT_TRUE(until([&] { return node.view()->phase == MeshPhase::joining; }));
  ASSERT_TRUE(wait(node.create()));
  EXPECT_EQ(node.view()->phase, MeshPhase::member);
  ASSERT_TRUE(wait(node.leave()));
  EXPECT_EQ(node.view()->phase, MeshPhase::none);
}

// Whoever let it in then would list it as away for ever.
TEST_F(StaticBootstrapTest, WhoHasFoundedByHandAsksNobodyAnyMore) {
  auto& node = start(1, {0});
  ASSERT_TRUE(until([&] { return node.view()->unmet.size() == 1; }));
  ASSERT_TRUE(wait(node.create()));
  ASSERT_TRUE(wait(node.leave()));
  auto& other = start(0, {1});
  ASSERT_TRUE(until([&] { return linked(other, 0); }));
  ASSERT_TRUE(until([&] { return node.view()->unmet.empty(); })) << "it looks no more";
  ASSERT_TRUE(wait(other.ask(&MemberRuntime::invite, std::chrono::hours(1))));  // its view is of now
  EXPECT_THAT(other.view()->nodes, SizeIs(1));
}

}  // namespace
}  // namespace corral::fleet
