// Three nodes, requests at each of them for models of all, and nodes, links, engines and clients that go at any moment:
// every answer is right or one clear error, none is of another model, and nothing is left.
#include <random>

#include "fleet/requests/fleet_fixture_for_tests.h"
#include "http/sse.h"

namespace corral::fleet {
namespace {

class RandomTest : public FleetTest, public testing::WithParamInterface<int> {
 protected:
  struct Asked {
    std::string model;
    bool stream;
    Pending<http::Response> answer;
    std::optional<Reader> client;
    MonoTime since;
  };

  void SetUp() override {
    FleetTest::SetUp();
    for (const auto* name : {"a", "b", "c"}) add(name);
    for (std::size_t i = 0; i < kModels; ++i) {
      // Each is at two nodes; which goes first changes from model to model.
      std::vector<Node*> at;
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (n == i % nodes.size()) continue;
        nodes[n]->own(named(i));
        at.push_back(nodes[n].get());
      }
      if (i % 2 == 1) std::swap(at[0], at[1]);
      for (auto& entry : nodes) route(*entry, named(i), at);
    }
    for (auto& node : nodes) {
      node->backend.load_at_once = true;
      // Nobody has only so many loads here.
      node->peers.loads.clear();
    }
  }
  static std::string named(std::size_t i) { return "m" + std::to_string(i); }
  std::size_t pick(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); }
  Node& some_node() { return *nodes[pick(nodes.size())]; }

  void ask() {
    auto& at = some_node();
    const auto model = named(pick(kModels));
    const bool stream = pick(2) == 0;
    const auto own = at.local_models.models.find(model);
    auto wanted = own == at.local_models.models.end() || pick(3) == 0 ? far(model) : own->second;
    const auto body = fmt::format(R"({{"n":{},"stream":{}}})", ++asked_, stream);
    under_way.push_back({model, stream, forward(at, std::move(wanted), stream, body), {}, timers.now()});
  }
  // Backends do a bit of their work.
  void work() {
    for (auto& node : nodes) {
      for (const auto& fake : node->backend.servers()) {
        for (const auto& request : fake->requests()) {
          if (!request->over() && pick(3) == 0) step(*fake, *request);
        }
      }
    }
    settle();
  }
  void step(const backends::FakeServer& fake, backends::FakeRequest& request) {
    const auto words = fmt::format(R"({{"from":"{}"}})", fake.model());
    const auto progress = ++progress_[&request];
    const bool streams = request.body().find(R"("stream":true)") != std::string::npos;
    if (!streams) return request.answer(200, words);
    if (progress == 1) return request.begin_stream();
    if (progress == 2) return request.send(": ping\n\n");
    if (progress < 6) return request.send(http::sse_data(words));
    request.send(std::string(http::kSseDone));
    request.end();
  }
  void disturb() {
    switch (pick(7)) {
      case 0: {  // an engine dies
        auto& servers = some_node().backend.servers();
        if (!servers.empty()) {
          auto& fake = *servers[pick(servers.size())];
          if (fake.alive()) fake.die();
        }
        break;
      }
      case 1:  // a link ends, and is back soon
        links.end(some_node().id(), some_node().id());
        break;
      case 2:  // a machine loses all its links
        kill(some_node());
        break;
      case 3:  // a client leaves
        if (!under_way.empty())
          under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(pick(under_way.size())));
        break;
      case 4:  // a node forgets what it works on
        some_node().peers.holds.clear();
        break;
      default:
        break;
    }
    settle();
  }
  void collect() {
    for (auto& one : under_way) {
      if (one.answer.done() && !one.client && one.answer.get().body.streaming()) one.client.emplace(reader(one.answer));
    }
    std::erase_if(under_way, [this](Asked& one) {
      if (!one.answer.done() || (one.client && !one.client->ended())) return false;
      check(one);
      return true;
    });
  }
  void check(Asked& one) {
    ++answered;
    const auto output = one.client ? one.client->text() : one.answer.get().body.text();
    EXPECT_THAT(output, testing::Not(HasSubstr("corral ended")));
    EXPECT_THAT(output, testing::Not(HasSubstr("corral unbegun")));
    for (std::size_t i = 0; i < kModels; ++i) {
      const auto from = fmt::format(R"("from":"{}")", named(i));
      if (named(i) != one.model) EXPECT_THAT(output, testing::Not(HasSubstr(from)));
    }
    std::size_t errors = 0;
    for (auto at = output.find("\"error\""); at != std::string::npos; at = output.find("\"error\"", at + 1)) ++errors;
    EXPECT_LE(errors, 1u) << output;
    if (errors == 0) {
      ++right;
      EXPECT_EQ(one.answer.get().head.status, 200u) << output;
      EXPECT_THAT(output, HasSubstr(fmt::format(R"("from":"{}")", one.model)));
    } else {
      EXPECT_THAT(output, testing::Not(HasSubstr("[DONE]")));
    }
  }

  static constexpr std::size_t kModels = 6;
  std::mt19937 random{static_cast<unsigned>(GetParam())};
  std::vector<Asked> under_way;
  std::map<const backends::FakeRequest*, int> progress_;
  int asked_ = 0;
  int answered = 0, right = 0;
};

TEST_P(RandomTest, EveryAnswerIsRightOrOneError) {
  for (int round = 0; round < 400; ++round) {
    if (under_way.size() < 12) ask();
    work();
    if (pick(8) == 0) disturb();
    if (pick(5) == 0) pass(100ms);
    if (pick(20) == 0) {
      links.down.clear();
      for (auto& node : nodes) {
        node->alive = true;
        node->peers.loads.clear();
      }
    }
    collect();
  }
  // The faults stop: everything ends.
  links.down.clear();
  for (auto& node : nodes) node->alive = true;
  for (int round = 0; round < 300 && !under_way.empty(); ++round) {
    work();
    pass(500ms, 500ms);
    collect();
  }
  for (const auto& one : under_way) ADD_FAILURE() << "hangs: " << one.model << (one.stream ? ", a stream" : "");
  under_way.clear();
  settle();
  EXPECT_GT(right, 20);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTest, testing::Range(1, 9));

}  // namespace
}  // namespace corral::fleet
