#include "fleet/copy_rules.h"

#include <gtest/gtest.h>

#include "fleet/errors.h"
#include "mesh/catalog/catalog_fixture_for_tests.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {
namespace {

TEST(CopyRules, AProblemIsForWhoMayOrder) {
  const auto ann = mesh::test_key(1).id(), bob = mesh::test_key(2).id();
  CopyView view{.state = CopyState::failed, .problem = "/home/ann/models is full"};
  EXPECT_EQ(told_to(ann, view, false).problem, "");
  EXPECT_EQ(told_to(ann, view, true).problem, view.problem);
  view.orderer = ann;
  EXPECT_EQ(told_to(ann, view, false).problem, view.problem);
  EXPECT_EQ(told_to(bob, view, false).problem, "");
}

TEST(CopyRules, EachCauseHasASentenceOfItsOwn) {
  EXPECT_NE(refusal_of(make_error_code(mesh::errc::disk_full)), refusal_of(make_error_code(errc::copy_failed)));
  EXPECT_EQ(refusal_of(make_error_code(std::errc::io_error)), refusal_of(make_error_code(errc::copy_failed)));
}

class CopyRulesTest : public mesh::CatalogFixture {};

TEST_F(CopyRulesTest, WhatFitsIntoNoMemoryHereIsntCopiedHere) {
  disk(add(2, mesh::Reach::linked), "m", "x");
  auto& self = add(1, mesh::Reach::own);
  const auto fits = [&](bool own) {
    const auto all = catalog();
    return fits_for_request(*all->node(id(1)), *all->find("m").model, own);
  };
  EXPECT_TRUE(fits(true));
  EXPECT_TRUE(fits(false));
  self.said.memory.front().lent = mesh::kGB;
  EXPECT_TRUE(fits(true));
  EXPECT_FALSE(fits(false));
  self.said.memory.front().total = mesh::kGB;
  EXPECT_FALSE(fits(true));
}

}  // namespace
}  // namespace corral::fleet
