// What administrators order at whole nodes: who is asked in which order, and what stands when somebody refuses.
#include <algorithm>

#include <gmock/gmock.h>

#include "fleet/allotment/no_actions_for_tests.h"
#include "fleet/base/errors.h"
#include "fleet/copies/file_inspector.h"
#include "fleet/node/node.h"
#include "fleet/node/nodes_fixture_for_tests.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::fleet {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class NodeOrdersTest : public NodesFixture {
 protected:
  // A node with what it was given, on which workers can run.
  struct Machine {
    explicit Machine(async::Timers& timers)
        : spawner(std::make_unique<proc::FakeSpawner>(timers)), inspector(*spawner, timers, "/bin/corral") {
      spawner->script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
        process->print("locked");
        process->exit(0);
        co_return;
      };
    }
    NoActions actions;
    std::unique_ptr<proc::FakeSpawner> spawner;
    FileInspector inspector;
    async::ThreadPool disk{1}, writes{1}, reads{1}, lists{1};
    Node* node = nullptr;
  };

  ~NodeOrdersTest() override {
    for (auto& node : nodes_) wait(node->stop());
    for (auto& machine : machines_) machine->spawner.reset();  // what it plays is on a loop of the node's
    nodes_.clear();
    for (auto& machine : machines_)
      for (auto* threads : {&machine->disk, &machine->writes, &machine->reads, &machine->lists}) threads->finish();
  }
  Node& start(const std::string& name, bool admin, const std::vector<std::string>& on_disk) {
    NodeOptions options;
    options.folder = folder_.path() / name;
    options.listen = {"127.0.0.1", 0};
    options.name = name;
    options.admin = admin;
    auto& machine = *machines_.emplace_back(std::make_unique<Machine>(timers_));
    auto& node = make(std::move(options));
    machine.node = &node;
    const auto copies = folder_.path() / (name + "-copies");
    std::filesystem::create_directories(copies);
    node.use_copies({.writes = &machine.writes,
                     .reads = &machine.reads,
                     .lists = &machine.lists,
                     .folder = copies,
                     .arrived = [] {},
                     .inspector = &machine.inspector});
    node.use_allotment({.actions = &machine.actions, .disk = &machine.disk});
    GroupConfig groups;
    groups.processes = &machine.actions;
    groups.disk = &machine.disk;
    node.use_groups(std::move(groups));
    node.start();
    if (nodes_.size() == 1) {
      EXPECT_TRUE(wait(node.create()));
      EXPECT_TRUE(until([&] { return node.view()->listening.has_value(); }));
    } else {
      const auto token = wait(nodes_.front()->ask(&MemberRuntime::invite, std::chrono::hours(1)));
      EXPECT_TRUE(wait(node.join(*mesh::parse_token(token->text), {})));
    }
    MachineFacts facts;
    std::vector<models::ModelInfo> models;
    for (const auto& model : on_disk) {
      auto& info = models.emplace_back();
      info.name = ModelName(model);
      info.size = Bytes(6'000'000'000);
      facts.contents[info.name] = sha256({model});
    }
    facts.catalog = std::make_shared<const models::Catalog>(std::move(models), std::vector<models::Problem>(),
                                                            std::vector<models::Problem>());
    facts.memory = {{.id = "ram", .name = "RAM", .total = 16ull << 30, .available = 16ull << 30}};
    facts.disk_free = 1ull << 40;
    node.set_facts(facts);
    return node;
  }
  // What `node` says, as `at` knows it.
  static std::shared_ptr<const mesh::NodeState> announced(const Node& at, std::string_view node) {
    const auto view = at.view();
    const auto found = find_node(*view, std::string(node));
    if (!found || !view->catalog || (*found)->reach == mesh::Reach::away) return nullptr;
    const auto* known = view->catalog->node((*found)->id);
    return known == nullptr ? nullptr : known->node_state;
  }
  static bool has_order(const Node& at, std::string_view node) {
    const auto words = announced(at, node);
    return words && !words->split_orders.empty();
  }

  std::vector<std::unique_ptr<Machine>> machines_;
};

// What stood had ended before it was known that the new one couldn't be.
TEST_F(NodeOrdersTest, WhoIsAskedForANewSplitAgreesBeforeTheOldOneEnds) {
  auto& a = start("a", true, {});
  auto& b = start("b", true, {"m"});
  auto& c = start("c", false, {"m"});
  for (const auto* at : {&a, &b, &c}) {
    ASSERT_TRUE(until([&] {
      return std::ranges::all_of(std::array{"a", "b", "c"}, [&](const char* name) {
        const auto words = announced(*at, name);
        return words && words->works && words->memory.size() == 1 &&
               words->models.size() == (name[0] == 'a' ? 0u : 1u) && words->links.size() == 2;
      });
    }));
  }
  const auto first = wait(b.ask(&MemberRuntime::split, "m", {"b", "a"}));
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(until([&] { return has_order(a, "b"); }));

  const auto refused = wait(a.ask(&MemberRuntime::split, "m", {"c", "a"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::not_admin_here);
  // What b says after that.
  ASSERT_TRUE(wait(a.ask(&MemberRuntime::assign, "b", AllotCommand::nothing, "")));
  ASSERT_TRUE(until([&] {
    const auto words = announced(a, "b");
    return words && words->order && !words->split_orders.empty();
  }));
  ASSERT_TRUE(wait(a.ask(&MemberRuntime::assign, "b", AllotCommand::release, "")));

  // Where it is agreed to, the old one ends.
  NodeOptions options;
  options.folder = folder_.path() / "c";
  options.listen = {"127.0.0.1", 0};
  options.name = "c";
  options.admin = true;
  c.change(options);
  const auto second = wait(a.ask(&MemberRuntime::split, "m", {"c", "a"}));
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_TRUE(until([&] {
    const auto words = announced(a, "c");
    return words && words->split_orders.size() == 1 && words->split_orders.front().stamp == 2 && announced(a, "b") &&
           !has_order(a, "b");
  }));
}

}  // namespace
}  // namespace corral::fleet
