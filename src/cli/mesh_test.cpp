#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class MeshCommandTest : public ProgramTest {
 protected:
  static constexpr const char* kMember =
      R"({"status":"member","mesh_id":"0a788c714351","node":{"id":"b08d48a6","name":"box","role":"member","epoch":1},)"
      R"("listening":"0.0.0.0:8100","addresses":["10.0.0.7:8100"],"members":2,"routable":1,"open_tokens":1,"problem":null})";
  static constexpr const char* kToken =
      R"({"token":"corral-join_abc","id":"12345678","state":"open","issued":1,"expires":1700000600000,"used_by":null})";
};

TEST_F(MeshCommandTest, SaysHowItIs) {
  server_.on("GET /api/v1/mesh", kMember);
  EXPECT_EQ(run({"mesh"}), 0);
  EXPECT_EQ(out(),
            "mesh        0a788c714351\n"
            "this node   box (member)\n"
            "identifier  b08d48a6\n"
            "reached at  10.0.0.7:8100\n"
            "nodes       2, 1 of them reachable\n"
            "tokens out  1\n");
  server_.answers.clear();
  server_.on("GET /api/v1/mesh", R"({"status":"none","mesh_id":null,"node":{"id":null,"name":"box","role":"member"}})");
  EXPECT_EQ(run({"mesh"}), 0);
  EXPECT_THAT(err(), HasSubstr("corral mesh create"));
}

TEST_F(MeshCommandTest, SaysWhatItHoldsTogetherWithOthers) {
  server_.on(
      "GET /api/v1/mesh",
      R"({"status":"member","mesh_id":"0a","node":{"id":"b0","name":"box","role":"member"},"groups":[{"model":"big",)"
      R"("status":"waiting","shares":[{"node":"den","layers":12},{"node":"box","layers":20}],"problem":"no link"}],)"
      R"("share":{"model":"huge","host":"den","status":"ready","memory_bytes":1073741824,"problem":null}})");
  EXPECT_EQ(run({"mesh"}), 0);
  EXPECT_THAT(out(), HasSubstr("hosts       big over den (12 layers), box (20 layers): waiting (no link)\n"));
  EXPECT_THAT(out(), HasSubstr("lends       1.0 GiB for huge of den: ready\n"));
}

TEST_F(MeshCommandTest, ATokenStandsAloneOnStandardOutput) {
  server_.on("POST /api/v1/mesh/create", kMember);
  server_.on("POST /api/v1/mesh/tokens", kToken);
  EXPECT_EQ(run({"mesh", "create"}), 0);
  EXPECT_EQ(out(), "corral-join_abc\n");
  EXPECT_THAT(err(), HasSubstr("address 10.0.0.7:8100"));
  EXPECT_EQ(run({"mesh", "token", "--expires", "10m"}), 0);
  EXPECT_EQ(out(), "corral-join_abc\n");
  EXPECT_THAT(server_.bodies("POST /api/v1/mesh/tokens"),
              ElementsAre(R"({"expires_in":3600})", R"({"expires_in":600})"));
  EXPECT_EQ(run({"mesh", "token", "--expires", "soon"}), 2);
}

TEST_F(MeshCommandTest, JoiningTellsEachStepAndReadsTheTokenFromStandardInput) {
  Scripted joining;
  joining.events = {{"step", R"({"step":"dial","address":"10.0.0.7:8100","limit_ms":6000})"}, {"complete", kMember}};
  server_.on("POST /api/v1/mesh/join", joining);
  pipe_everything();
  input_.all = "corral-join_abc\n";
  EXPECT_EQ(run({"mesh", "join", "-"}), 0);
  EXPECT_THAT(err(), HasSubstr("dial 10.0.0.7:8100 (within 6"));
  EXPECT_THAT(out(), HasSubstr("box (member)"));
  EXPECT_THAT(server_.bodies("POST /api/v1/mesh/join"), ElementsAre(R"({"token":"corral-join_abc\n","stream":true})"));
  input_.all.clear();
  EXPECT_EQ(run({"mesh", "join", "-"}), 2);
}

TEST_F(MeshCommandTest, AJoinThatFailsSaysWhere) {
  Scripted failing;
  failing.events = {{"step", R"({"step":"dial","address":"10.0.0.7:8100","limit_ms":6000})"},
                    {"error", R"({"error":{"message":"joining stopped at the step 'proof'"}})"}};
  server_.on("POST /api/v1/mesh/join", failing);
  EXPECT_EQ(run({"mesh", "join", "corral-join_abc"}), 1);
  EXPECT_THAT(err(), HasSubstr("stopped at the step 'proof'"));
  EXPECT_THAT(err(), Not(HasSubstr("corral-join_abc")));
}

TEST_F(MeshCommandTest, ListsNodesAndModels) {
  server_.on(
      "GET /api/v1/mesh/nodes",
      R"({"status":"member","nodes":[{"id":"aaaaaaaaaaaabbbb","name":"a","self":true,"routable":true,"link":"self",)"
      R"("addresses":["10.0.0.7:8100"],"rtt_ms":null,"last_end":null,"role":"member","models":2,)"
      R"("memory":[{"total_bytes":1073741824,"free_bytes":536870912}],"serving":[{"model":"m","state":"loading"}]},)"
      R"({"id":"bbbbbbbbbbbbcccc","name":"b","self":false,"routable":true,"link":"up","addresses":[],"rtt_ms":1},)"
      R"({"id":"ccccccccccccdddd","name":"c","self":false,"routable":false,"link":"dialling","addresses":[],)"
      R"("rtt_ms":3,"last_end":"silent"}]})");
  surroundings_.terminal.out_tty = false;
  EXPECT_EQ(run({"mesh", "nodes"}), 0);
  EXPECT_EQ(out(),
            "NAME  ID            LINK   RTT  ROLE     MEMORY     FREE  MODELS  SERVES       ADDRESS        LAST END\n"
            "a *   aaaaaaaaaaaa  self     -  member  1.0 GiB  512 MiB       2  m (loading)  10.0.0.7:8100  -\n"
            "b     bbbbbbbbbbbb  up    1 ms  -             -        -       0  -            -              -\n"
            "c     cccccccccccc  down  3 ms  -             -        -       0  -            -              silent\n");
  server_.on("GET /api/v1/mesh/models",
             R"({"models":[{"id":"m","type":"llm","status":"ready","size_bytes":1024,"host":"a",)"
             R"("nodes":[{"name":"a","state":"ready"},{"name":"b","state":"unloaded"}]}]})");
  EXPECT_EQ(run({"mesh", "models"}), 0);
  EXPECT_THAT(out(), HasSubstr("ready   a, b     a"));
}

TEST_F(MeshCommandTest, ACopyIsOrderedAndWatched) {
  Scripted copying;
  copying.events = {{"progress", R"({"model":"m","state":"copying","done_bytes":1,"total_bytes":4})"},
                    {"complete", R"({"model":"m","state":"done","done_bytes":4,"total_bytes":4})"}};
  server_.on("POST /api/v1/mesh/pull", copying);
  EXPECT_EQ(run({"mesh", "pull", "m"}), 0);
  EXPECT_THAT(out(), HasSubstr("m  done  4 B of 4 B"));
  EXPECT_THAT(server_.bodies("POST /api/v1/mesh/pull"), ElementsAre(R"({"model":"m","stream":true})"));
}

TEST_F(MeshCommandTest, ACopyWithoutASourceSaysThatItWaits) {
  server_.on("GET /api/v1/mesh/copies",
             R"({"copies":[{"model":"m","state":"copying","done_bytes":1024,"total_bytes":4096,)"
             R"("bytes_per_second":0,"from":null},{"model":"n","state":"copying","done_bytes":1024,)"
             R"("total_bytes":4096,"bytes_per_second":2048,"from":"b"}]})");
  EXPECT_EQ(run({"mesh", "copies"}), 0);
  EXPECT_EQ(out(),
            "m  copying  1.0 KiB of 4.0 KiB, waits for a node that sends it\n"
            "n  copying  1.0 KiB of 4.0 KiB, 2.0 KiB/s from b\n");
}

TEST_F(MeshCommandTest, SaysWhyAndWhatIsWrong) {
  server_.on(
      "GET /api/v1/mesh/why/org/m%3AQ4",
      R"({"model":"org/m:Q4","status":"unloaded","node":"b","here":false,"rank":"fits","short":null,)"
      R"("candidates":[{"name":"b","rank":"fits","text":"it has room"}],"allocation":["b gets it: nobody does"]})");
  EXPECT_EQ(run({"mesh", "why", "org/m:Q4"}), 0);
  EXPECT_THAT(out(), HasSubstr("b gets it: nobody does\n"));
  EXPECT_THAT(out(), HasSubstr("a request for org/m:Q4 would go to b\n"));
  EXPECT_THAT(out(), HasSubstr("it has room"));
  server_.on("GET /api/v1/mesh/doctor",
             R"({"findings":[{"verdict":"ok","step":"identity","node":null,"text":"fine"},)"
             R"({"verdict":"failed","step":"link","node":"b","text":"there is none"}],"healthy":false})");
  EXPECT_EQ(run({"mesh", "doctor"}), 1);
  EXPECT_EQ(out(), "ok      identity: fine\nfailed  b: link: there is none\n");
}

TEST_F(MeshCommandTest, WhyTellsOfASplitThatTheNextRequestMakes) {
  server_.on("GET /api/v1/mesh/why/big",
             R"({"model":"big","status":"needs_capacity","node":null,"here":false,"rank":"none",)"
             R"("short":{"text":"b: the model needs 9.0 GiB, the node has at most 5.0 GiB for it"},)"
             R"("split":{"host":"b","host_id":"0b","shares":[{"node":"a","id":"0a"},{"node":"b","id":"0b"}]},)"
             R"("candidates":[],"allocation":[]})");
  EXPECT_EQ(run({"mesh", "why", "big"}), 0);
  EXPECT_THAT(out(), HasSubstr("a request for big would split it over b, a; b would be the host\n"));
  EXPECT_THAT(out(), Not(HasSubstr("cannot be served")));
  server_.on("GET /api/v1/mesh/why/huge",
             R"({"model":"huge","node":null,"short":{"text":"b is too small"},"split":null})");
  EXPECT_EQ(run({"mesh", "why", "huge"}), 0);
  EXPECT_THAT(out(), HasSubstr("huge cannot be served now: b is too small\n"));
}

TEST_F(MeshCommandTest, ShowsWhoIsToHaveWhat) {
  server_.on(
      "GET /api/v1/mesh/plan",
      R"({"status":"member","known":true,"assignments":[{"node":"b","model":"m","part":"alone","why":"b gets m"}],)"
      R"("unloads":[{"why":"c gives n back"}],"splits":[],"unserved":[{"why":"big: 3.0 GiB short"}]})");
  EXPECT_EQ(run({"mesh", "plan"}), 0);
  EXPECT_THAT(out(), HasSubstr("b gets m"));
  EXPECT_THAT(out(), HasSubstr("c gives n back\nnot served: big: 3.0 GiB short\n"));
}

TEST_F(MeshCommandTest, ShowsThatNothingIsPlanned) {
  server_.on("GET /api/v1/mesh/plan", R"({"status":"member","assignments":[],"unloads":[],"splits":[],"unserved":[]})");
  EXPECT_EQ(run({"mesh", "plan"}), 0);
  EXPECT_THAT(err(), HasSubstr("The plan is empty"));
}

// All lines had "(host)" if the nodes had one name.
TEST_F(MeshCommandTest, MarksTheHostByItsId) {
  server_.on("GET /api/v1/mesh/plan/big",
             R"({"model":"big","groups":[{"host":"vm","host_id":"02","stage":"standing","running":true,"context":null,)"
             R"("shares":[{"node":"vm","id":"01","layers":20,"memory_bytes":1024},)"
             R"({"node":"vm","id":"02","layers":28,"memory_bytes":2048}]}]})");
  surroundings_.terminal.out_tty = false;
  EXPECT_EQ(run({"mesh", "plan", "big"}), 0);
  EXPECT_EQ(out(),
            "vm hosts it over 2 nodes: serves\n"
            "NODE       LAYERS   MEMORY\n"
            "vm             20  1.0 KiB\n"
            "vm (host)      28  2.0 KiB\n");
}

TEST_F(MeshCommandTest, ForetellsASplitAndShowsOne) {
  server_.on(
      "GET /api/v1/mesh/plan/big",
      R"({"model":"big","assignments":[],"unloads":[],"unserved":[],"groups":[],"foretold":{"need_bytes":30000000000,)"
      R"("alone":null,"split":{"host":"a","host_id":"0a","shares":[{"node":"b","id":"0b","layers":20,)"
      R"("memory_bytes":12000000000},{"node":"a","id":"0a","layers":28,"memory_bytes":18000000000}],"tokens_per_second":4.25,"load_seconds":90,"context":32768},)"
      R"("short":null}})");
  EXPECT_EQ(run({"mesh", "plan", "big"}), 0);
  EXPECT_THAT(out(), HasSubstr("it would be split: 4.2 tokens/s, loads in 90 s, with 32768 tokens of context\n"));
  EXPECT_THAT(out(), HasSubstr("a (host)"));
  server_.on(
      "GET /api/v1/mesh/plan/other",
      R"({"model":"other","groups":[{"host":"a","stage":"waiting","running":false,"context":null,"problem":"b is taken",)"
      R"("shares":[{"node":"b","layers":20,"memory_bytes":1}]}],"foretold":{"short":{"text":"2.0 GiB short"}}})");
  EXPECT_EQ(run({"mesh", "plan", "other"}), 0);
  EXPECT_THAT(out(), HasSubstr("a hosts it over 1 nodes: waiting; b is taken\n"));
}

TEST_F(MeshCommandTest, TellsNodesWhatToHave) {
  server_.on("POST /api/v1/mesh/assign", R"({"status":"success"})");
  for (const auto* model : {"m", "nothing", "auto"}) EXPECT_EQ(run({"mesh", "assign", "b", model}), 0);
  EXPECT_THAT(
      server_.bodies("POST /api/v1/mesh/assign"),
      ElementsAre(R"({"node":"b","model":"m"})", R"({"node":"b","nothing":true})", R"({"node":"b","auto":true})"));
  EXPECT_EQ(out(), "b gets the model of the plan\n");
  EXPECT_EQ(run({"mesh", "assign", "b", "m"}), 0);
  EXPECT_EQ(out(), "b will serve m: corral mesh plan m shows the progress\n");
  EXPECT_EQ(run({"mesh", "assign", "b"}), 2);
  server_.answers.clear();
  server_.on("POST /api/v1/mesh/assign", R"({"status":"success","waits_for":"b does not have the file of m"})");
  EXPECT_EQ(run({"mesh", "assign", "b", "m"}), 0);
  EXPECT_EQ(out(), "b is assigned to m, but does not serve it yet: b does not have the file of m\n");
  server_.on("POST /api/v1/mesh/unload", R"({"nodes":["a","b"],"refused":["c: mesh_admin is off"]})");
  EXPECT_EQ(run({"mesh", "unload", "m"}), 0);
  EXPECT_THAT(out(), HasSubstr("m is unloaded by a, b"));
  EXPECT_THAT(err(), HasSubstr("warning: c: mesh_admin is off\n"));
  server_.answers.clear();
  server_.on("POST /api/v1/mesh/unload", R"({"nodes":[],"refused":[]})");
  EXPECT_EQ(run({"mesh", "unload", "m"}), 0);
  EXPECT_EQ(out(), "no node has m for the mesh: no node loads it before the next request for it\n");
}

TEST_F(MeshCommandTest, TokensNodesAndLeaving) {
  server_.on(
      "GET /api/v1/mesh/tokens",
      R"({"tokens":[{"id":"12345678","state":"used","issued":1,"expires":1700000600000,"used_by":"aaaaaaaaaaaabb"},)"
      R"({"id":"23456789","state":"open","issued":1,"expires":1700000600000,"used_by":null}]})");
  EXPECT_EQ(run({"mesh", "token", "list"}), 0);
  EXPECT_THAT(out(), HasSubstr("23456789  open"));
  EXPECT_THAT(out(), Not(HasSubstr("12345678"))) << "used tokens aren't valid";
  EXPECT_EQ(run({"mesh", "token", "list", "--all"}), 0);
  EXPECT_THAT(out(), AllOf(HasSubstr("12345678  used"), HasSubstr("23456789  open")));
  server_.on("DELETE /api/v1/mesh/tokens/12345678", R"({"status":"success"})");
  EXPECT_EQ(run({"mesh", "token", "withdraw", "12345678"}), 0);
  server_.on("POST /api/v1/mesh/revoke", R"({"status":"success"})");
  EXPECT_EQ(run({"mesh", "revoke", "b", "--with-admitted"}), 0);
  EXPECT_THAT(server_.bodies("POST /api/v1/mesh/revoke"), ElementsAre(R"({"node":"b","with_admitted":true})"));
  server_.on("POST /api/v1/mesh/leave", kMember);
  EXPECT_EQ(run({"mesh", "leave"}), 0);
  EXPECT_EQ(out(), "this node left the mesh\n");
  EXPECT_EQ(err(), "");
  server_.answers.clear();
  server_.on("POST /api/v1/mesh/leave", R"({"status":"none","mesh_id":null,"node":{"id":null,"name":"box"},)"
                                        R"("problem":"it needs a new key"})");
  EXPECT_EQ(run({"mesh", "leave"}), 0);
  EXPECT_EQ(err(), "warning: it needs a new key\n");
}

TEST_F(MeshCommandTest, ACopyIsGivenUpByName) {
  server_.on("DELETE /api/v1/mesh/copies/org/m%40QUANT", R"({"cancelled":true})");
  EXPECT_EQ(run({"mesh", "copies", "--cancel", "org/m@QUANT"}), 0);
  EXPECT_EQ(out(), "the copy of org/m@QUANT is cancelled\n");
  server_.on("DELETE /api/v1/mesh/copies/none", Scripted{.status = 404, .body = R"({"error":{"message":"no copy"}})"});
  EXPECT_EQ(run({"mesh", "copies", "--cancel", "none"}), 1);
  EXPECT_THAT(err(), HasSubstr("no copy"));
}

TEST_F(MeshCommandTest, EventsAndListsTellOfNodes) {
  Scripted stream;
  stream.events = {{"mesh", R"({"time":0,"change":"away","node":"b","cause":"silent"})"},
                   {"mesh", R"({"time":0,"change":"model","model":"m","from":"unloaded","status":"ready"})"},
                   {"mesh", R"({"time":0,"change":"copy","model":"m","from":"copying","status":"done"})"},
                   {"mesh", R"({"time":0,"change":"copy","model":"n","from":"copying","status":null})"},
                   {"mesh", R"({"time":0,"change":"status","from":"none","status":"member"})"}};
  server_.on("GET /api/v1/events", stream);
  EXPECT_EQ(run({"events"}), 0);
  EXPECT_THAT(out(), HasSubstr("mesh: b is unreachable: silent\n"));
  EXPECT_THAT(out(), HasSubstr("mesh: m is ready\n"));
  EXPECT_THAT(out(), HasSubstr("mesh: the copy of m is done\n"));
  EXPECT_THAT(out(), HasSubstr("mesh: the copy of n is given up\n"));
  EXPECT_THAT(out(), HasSubstr("mesh: member\n"));
  server_.on("GET /api/v1/models?rescan=true",
             R"({"data":[{"id":"m","type":"llm","status":{"value":"loaded"},"nodes":[{"name":"a"},{"name":"b"}]}]})");
  EXPECT_EQ(run({"list"}), 0);
  EXPECT_THAT(out(), HasSubstr("STATE   NODES\n"));
  EXPECT_THAT(out(), HasSubstr("loaded  a, b\n"));
  server_.on(
      "GET /api/v1/health",
      R"({"all_models_loaded":[],"mesh":{"nodes":[{"name":"a","self":true,"routable":true,"serving":[{"model":"x"}]},)"
      R"({"name":"b","self":false,"routable":true,"serving":[{"model":"m","state":"ready","running":2}]}]}})");
  EXPECT_EQ(run({"ps"}), 0);
  EXPECT_THAT(out(), HasSubstr("NODE\n"));
  EXPECT_THAT(out(), HasSubstr("b\n"));
  EXPECT_THAT(out(), Not(HasSubstr("x ")));
}

}  // namespace
}  // namespace corral::cli
