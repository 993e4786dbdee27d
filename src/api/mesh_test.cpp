// The node of a mesh over HTTP: what is there without one, and with one of a single node.
#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

class MeshTest : public ApiTest {
 protected:
  explicit MeshTest(std::vector<fleet::StaticPeer> named = {}) : node_(clock, options(std::move(named))) {
    context.core.node = &node_;
    handler = make_api(context);
  }
  ~MeshTest() override {
    async::SpawnedTask<bool> stopping(loop.executor(), "stop", stop_node());
    loop.context().restart();
    while (!ended_) loop.context().run_one();
    settle();
  }
  async::Task<bool> stop_node() {
    co_await node_.stop();
    ended_ = true;
    co_return true;
  }
  fleet::NodeOptions options(std::vector<fleet::StaticPeer> named) {
    fleet::NodeOptions made;
    made.folder = dir.path() / "mesh";
    made.listen = {"127.0.0.1", 0};
    made.name = "box";
    made.peers = std::move(named);
    made.may_found = false;
    return made;
  }

  bool ended_ = false;
  fleet::Node node_;
};

// Its settings name a node that isn't there.
class MeshApiTest : public MeshTest {
 protected:
  MeshApiTest() : MeshTest({{mesh::NodeId(), {"127.0.0.1", 1}}}) { node_.start(); }
};

TEST_F(MeshApiTest, UntilItIsInAMeshRequestsAreAnsweredHere) {
  for (const auto* model : {"tiny-llama", "no-such-model"}) {
    const auto answer = get(std::string("/v1/mesh/why/") + model);
    EXPECT_EQ(answer.status, 409u) << answer.text;
    EXPECT_EQ(answer.error("code"), "mesh_none");
  }
}

TEST_F(MeshTest, WithoutAMeshEverythingIsAsItWas) {
  EXPECT_THAT(get("/v1/mesh").text, HasSubstr(R"("status":"none","mesh_id":null)"));
  EXPECT_THAT(get("/v1/health").text, testing::Not(HasSubstr("\"mesh\"")));
  EXPECT_THAT(get("/v1/models").text, testing::Not(HasSubstr("\"nodes\"")));
  EXPECT_THAT(get("/metrics").text, testing::Not(HasSubstr("corral_mesh")));
  for (const auto* path : {"/v1/mesh/leave", "/v1/mesh/tokens"}) {
    const auto refused = post(path, "{}");
    EXPECT_EQ(refused.status, 409u) << path;
    EXPECT_EQ(refused.error("code"), "mesh_none");
  }
  EXPECT_EQ(get("/v1/mesh/why/tiny-llama").status, 409u);
  EXPECT_THAT(get("/v1/mesh/doctor").text, HasSubstr("corral mesh create"));
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "mesh"));
}

TEST_F(MeshTest, AMeshOfOneIsShownEverywhere) {
  const auto created = post("/v1/mesh/create", "{}");
  ASSERT_EQ(created.status, 200u) << created.text;
  EXPECT_EQ(post("/v1/mesh/create", "").error("code"), "mesh_already_joined");
  EXPECT_THAT(get("/v1/mesh/nodes").text, HasSubstr(R"("name":"box","self":true,"routable":true)"));
  EXPECT_THAT(get("/v1/health").text, HasSubstr(R"("mesh":{"status":"member","nodes":[{"name":"box")"));
  EXPECT_THAT(get("/metrics").text, HasSubstr("corral_mesh_members 1"));
  EXPECT_EQ(get("/v1/mesh/why/no-such-model").status, 404u);
  EXPECT_THAT(get("/v1/mesh/doctor").text, HasSubstr(R"("step":"membership","node":null)"));
}

TEST_F(MeshTest, WhoHasWhatIsShownAndOrderedInAMeshOnly) {
  EXPECT_THAT(get("/v1/mesh/plan").text, HasSubstr(R"("known":false,"assignments":[])"));
  EXPECT_EQ(get("/v1/mesh/plan/tiny-llama").error("code"), "mesh_none");
  EXPECT_EQ(post("/v1/mesh/assign", R"({"node":"box","model":"m"})").error("code"), "mesh_none");
  EXPECT_EQ(post("/v1/mesh/unload", R"({"model":"m"})").error("code"), "mesh_none");
  const auto split = post("/v1/load", R"({"model_name":"tiny-llama","split":["box","other"]})");
  EXPECT_EQ(split.error("code"), "mesh_none") << split.text;
  EXPECT_EQ(split.error("param"), "split");
  ASSERT_EQ(post("/v1/mesh/create", "{}").status, 200u);
  EXPECT_EQ(get("/v1/mesh/plan/no-such-model").status, 404u);
  EXPECT_EQ(post("/v1/mesh/assign", R"({"node":"nobody","nothing":true})").error("code"), "mesh_node_not_found");
  EXPECT_EQ(post("/v1/mesh/unload", R"({"model":"no-such-model"})").status, 404u);
  const auto unknown = post("/v1/load", R"({"model_name":"tiny-llama","split":["box","nobody"]})");
  EXPECT_EQ(unknown.status, 404u) << unknown.text;
  EXPECT_EQ(unknown.error("param"), "split");
}

TEST_F(MeshTest, ATokenIsToldOnceAndNeverAgain) {
  ASSERT_EQ(post("/v1/mesh/create", "{}").status, 200u);
  const auto made = post("/v1/mesh/tokens", R"({"expires_in":600})");
  ASSERT_EQ(made.status, 200u) << made.text;
  EXPECT_THAT(made.text, HasSubstr(R"("token":"corral-join_)"));
  const auto listed = get("/v1/mesh/tokens").text;
  EXPECT_THAT(listed, HasSubstr(R"("state":"open")"));
  EXPECT_THAT(listed, testing::Not(HasSubstr("corral-join_")));
  const auto id = std::string(json::text_or(made.json(), "id", ""));
  EXPECT_EQ(ask("DELETE", "/v1/mesh/tokens/" + id).status, 200u);
  EXPECT_EQ(ask("DELETE", "/v1/mesh/tokens/ffffffff").error("code"), "mesh_token_unknown");
}

TEST_F(MeshTest, WrongBodiesNameTheFieldAndRepeatNoToken) {
  struct Row {
    const char* path;
    const char* body;
    const char* param;
  };
  for (const Row& row :
       {Row{"join", "{}", "token"}, Row{"join", R"({"token":7})", "token"},
        Row{"join", R"({"token":"corral-join_secretsecret"})", "token"},
        Row{"join", R"({"token":"x","stream":1})", "stream"}, Row{"revoke", "{}", "node"},
        Row{"tokens", R"({"expires_in":0})", "expires_in"}, Row{"tokens", R"({"expires_in":604801})", "expires_in"},
        Row{"tokens", R"({"expires_in":"1h"})", "expires_in"}, Row{"assign", "{}", "node"},
        Row{"assign", R"({"node":"box"})", "model"}, Row{"assign", R"({"node":"box","model":7})", "model"},
        Row{"assign", R"({"node":"box","model":"m","nothing":true})", "model"}, Row{"unload", "{}", "model"}}) {
    const auto refused = post(std::string("/v1/mesh/") + row.path, row.body);
    EXPECT_EQ(refused.status, 400u) << row.body;
    EXPECT_EQ(refused.error("param"), row.param) << row.body << refused.text;
    EXPECT_THAT(refused.text, testing::Not(HasSubstr("secretsecret")));
  }
  const auto long_token = R"({"token":")" + std::string(5000, 'a') + R"("})";
  EXPECT_EQ(post("/v1/mesh/join", long_token).status, 400u);
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "mesh"));
}

}  // namespace
}  // namespace corral::api
