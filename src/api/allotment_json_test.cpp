#include "api/admin/allotment_json.h"

#include <gmock/gmock.h>

#include "mesh/support_for_tests.h"

namespace corral::api {
namespace {

using testing::HasSubstr;

const mesh::ContentKey kBig{sha256({"big"}), false};

mesh::NodeId id(unsigned number) { return mesh::test_key(number).id(); }

class AllotmentJsonTest : public testing::Test {
 protected:
  AllotmentJsonTest() {
    mesh::SplitPlan plan;
    plan.host = id(2);
    plan.shares = {{id(1), 12, 10, 0, 0}, {id(2), 20, 20, 0, 0}};
    allotment.allocation.splits.push_back({kBig, plan});
    model.name = "big";
    model.content = kBig;
    for (const unsigned number : {1, 2})
      view.nodes.push_back({.id = id(number), .name = "vm@" + mesh::short_text(id(number)), .own_name = "vm"});
  }
  std::string coming(const mesh::Choice& choice) {
    view.allotment = std::make_shared<const fleet::Allotment>(allotment);
    std::string body;
    json::Writer out(body);
    out.begin_object();
    write_coming_split(out, view, model, choice);
    out.end_object();
    return body;
  }

  fleet::Allotment allotment;
  fleet::MeshView view;
  mesh::MeshModel model;
};

// `why` said that the model can't be served, while a request for it was answered by its split.
TEST_F(AllotmentJsonTest, ASplitThatARequestGetsIsShownWithItsNodes) {
  const auto text = coming({});
  EXPECT_THAT(text, HasSubstr("{\"split\":{\"host\":\"vm@" + mesh::short_text(id(2)) + "\",\"host_id\":\"" +
                              mesh::to_text(id(2)) + "\",\"shares\":[{\"node\":\"vm@" + mesh::short_text(id(1)) +
                              "\",\"id\":\"" + mesh::to_text(id(1)) + "\",\"layers\":12"));
}

TEST_F(AllotmentJsonTest, AModelThatANodeServesNeedsNone) {
  mesh::Choice choice;
  choice.node = id(1);
  EXPECT_EQ(coming(choice), R"({"split":null})");
}

TEST_F(AllotmentJsonTest, NoSplitIsShownForAModelThatFitsNoGroup) {
  allotment.allocation.splits.clear();
  allotment.allocation.unserved.push_back({kBig, mesh::UnservedReason::no_memory, 0, 0, "too large"});
  EXPECT_EQ(coming({}), R"({"split":null})");
}

}  // namespace
}  // namespace corral::api
