// Members of one mesh on one loop, each with its MemberRuntime: real links on loopback, real folders, and a simulated
// inspector of copied files.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "base/log.h"
#include "fleet/node/member_runtime.h"
#include "mesh/support_for_tests.h"
#include "models/hash/content_hash.h"
#include "models/hash/digest.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::fleet {

class PresenceFixture : public testing::Test {
 protected:
  struct Member {
    Member(async::Timers& timers, unsigned number) : key(mesh::test_key(number)), spawner(timers) {}
    mesh::NodeId id() const { return key.id(); }

    mesh::SigningKey key;
    NodeOptions options;
    MachineFacts facts;
    proc::FakeSpawner spawner;
    std::unique_ptr<FileInspector> inspector;
    async::ThreadPool writes{1}, reads{1}, lists{1}, disk{1};
    AllotConfig allotment;  // none: it holds nothing for the mesh
    GroupConfig groups;     // none: it has no part in groups
    std::unique_ptr<MemberRuntime> runtime;
  };

  PresenceFixture() { log::set_level(log::Level::none); }
  ~PresenceFixture() override {
    end();
    log::set_level(log::Level::info);
  }
  // Call it before the arguments of members are destroyed.
  void end() {
    for (auto& member : members_) {
      if (member->runtime) async::run_blocking(loop_, member->runtime->stop());
      for (auto* threads : {&member->writes, &member->reads, &member->lists, &member->disk}) threads->finish();
    }
    members_.clear();
    loop_.context().poll();
  }

  // Members "a", "b", ... of one mesh, with links to each other. `settings` may change the options of a node.
  void come_together(unsigned count, const std::function<void(unsigned number, NodeOptions&)>& settings = {}) {
    mesh::MemberSet set(mesh::found_mesh(mesh::test_key(1).public_key()));
    for (unsigned number = 0; number < count; ++number) {
      auto& member = *members_.emplace_back(std::make_unique<Member>(timers_, number + 1));
      if (number == 0) continue;
      const mesh::MemberRecord record = sign_admit(members_[0]->key, set.mesh(), member.key.public_key());
      ASSERT_TRUE(set.add({&record, 1}));
    }
    for (unsigned number = 0; number < count; ++number) {
      auto& member = *members_[number];
      member.options.name = std::string(1, static_cast<char>('a' + number));
      member.options.folder = folder_.path() / member.options.name;
      member.options.listen = {"127.0.0.1", 0};
      if (settings) settings(number, member.options);
      start(member, set);
      ASSERT_TRUE(until([&] { return view(member).listening.has_value(); }));
    }
    ASSERT_TRUE(until([&] { return linked(); }));
  }
  void start(Member& member, const mesh::MemberSet& set) {
    std::filesystem::create_directories(copies_of(member));
    looks(member, "", 0);
    member.inspector = std::make_unique<FileInspector>(member.spawner, timers_, "/bin/corral");
    member.facts.catalog = std::make_shared<const models::Catalog>();
    member.facts.memory = {{.id = "ram", .name = "RAM", .total = 16ull << 30, .available = 8ull << 30}};
    member.facts.disk_free = 1ull << 40;
    auto membership = begin_membership(member.options, member.key, set);
    ASSERT_TRUE(membership) << membership.error().message;
    std::vector<mesh::Address> seeds;
    if (&member != members_.front().get()) seeds.push_back(*view(*members_.front()).listening);
    const CopyStorage place{.writes = &member.writes,
                            .reads = &member.reads,
                            .lists = &member.lists,
                            .folder = copies_of(member),
                            .arrived = [] {},
                            .inspector = member.inspector.get()};
    member.runtime = std::make_unique<MemberRuntime>(
        loop_.executor(), timers_, member.options, std::move(*membership), seeds, [] {}, MakeHints(), place,
        member.allotment, member.groups);
    member.runtime->start();
    member.runtime->set_facts(member.facts);
  }
  template <typename T>
  T wait(async::Task<T> task) {
    return async::run_blocking(loop_, std::move(task));
  }
  Member& member(char name) { return *members_.at(static_cast<std::size_t>(name - 'a')); }
  std::filesystem::path copies_of(const Member& member) const {
    return folder_.path() / (member.options.name + "-copies");
  }

  static MeshView view(Member& member) {
    MeshView view;
    member.runtime->describe(view);
    return view;
  }
  bool linked() {
    for (auto& member : members_)
      for (const auto& node : view(*member).nodes)
        if (node.reach != mesh::Reach::own && (node.reach != mesh::Reach::linked || !node.node_state)) return false;
    return true;
  }
  // Checks again after each step of the loop. The limit only ends a failed test, before ctest ends it.
  bool until(const std::function<bool()>& done) {
    const auto limit = MonoClock::now() + std::chrono::seconds(100);
    while (!done() && MonoClock::now() < limit) loop_.context().run_one_until(limit);
    return done();
  }

  // Output and exit code of the inspector of `member` after it has entered its sandbox; -1: it never ends.
  static void looks(Member& member, std::string output, int exit) {
    member.spawner.script = [output = std::move(output),
                             exit](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      const bool has_files = process->spec().argv.size() > 2;
      process->print("locked");
      if (has_files && !output.empty()) process->print(output);
      if (!has_files || exit >= 0) process->exit(has_files ? exit : 0);
      co_return;
    };
  }
  // It can't enter a sandbox.
  static void looks_at_nothing(Member& member) {
    member.spawner.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
      process->print("trouble seccomp: Operation not permitted");
      process->exit(kCantInspect);
      co_return;
    };
  }
  // Gives `member` a model of those bytes, with an announced size. Returns its content, once all others see it.
  Sha256 have(Member& member, const std::string& name, const std::string& bytes, std::uint64_t size = 0) {
    const auto file = folder_.path() / (name + ".gguf");
    std::ofstream(file) << bytes;
    const std::vector<Sha256> parts = {models::digest_of(bytes)};
    const auto content = models::content_of(parts, std::nullopt);
    models::ModelInfo info;
    info.name = ModelName(name);
    info.paths = {file};
    info.checkpoint = file;
    info.size = Bytes(std::max<std::uint64_t>(size, bytes.size()));
    std::vector<models::ModelInfo> all = {info};
    for (const auto& other : member.facts.catalog->models()) all.push_back(*other);
    member.facts.catalog = std::make_shared<const models::Catalog>(std::move(all), std::vector<models::Problem>(),
                                                                   std::vector<models::Problem>());
    member.facts.contents[info.name] = content;
    member.runtime->set_facts(member.facts);
    EXPECT_TRUE(until(
        [&] { return std::ranges::all_of(members_, [&](auto& one) { return find(*one, content) != nullptr; }); }));
    return content;
  }
  // As `member` sees it; valid as long as its catalog.
  static const mesh::MeshModel* find(Member& member, const Sha256& content) {
    const auto catalog = member.runtime->gossip().catalog();
    for (const auto& model : catalog->models())
      if (!model.content.pending && model.content.bytes == content) return &model;
    return nullptr;
  }
  static std::optional<CopyView> copy_to(Member& member, const Sha256& content) {
    for (const auto& copy : view(member).copies)
      if (copy.content == content) return copy;
    return std::nullopt;
  }

  mesh::TestFolder folder_;
  async::SystemTimers timers_;
  async::Loop loop_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace corral::fleet
