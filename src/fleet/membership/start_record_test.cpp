#include "fleet/membership/start_record.h"

#include <fstream>

#include <gmock/gmock.h>

#include "base/log.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {
namespace {

NodeOptions joined() {
  NodeOptions options;
  options.joins = true;
  options.role = mesh::Role::worker;
  options.wants = parse_wants("org/repo:Q4 other");
  options.wants_of_start = true;
  options.assigned_at_start = "org/repo:Q4";
  return options;
}

TEST(StartRecord, IsTheSameAfterARestart) {
  const mesh::TestFolder folder;
  EXPECT_EQ(read_start(folder.path()), std::nullopt);
  keep_start(folder.path(), record_of(joined()));
  const auto read = read_start(folder.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, record_of(joined()));
  NodeOptions plain;
  plain.role_is_open = true;
  const auto resumed = with_record(plain, *read);
  EXPECT_EQ(resumed.role, mesh::Role::worker);
  EXPECT_EQ(resumed.wants, joined().wants);
  EXPECT_EQ(resumed.assigned_at_start, "org/repo:Q4");
}

TEST(StartRecord, WhatTheUserSaysNowCounts) {
  NodeOptions now;
  now.role = mesh::Role::client;
  now.wants = parse_wants("third");
  const auto resumed = with_record(now, record_of(joined()));
  EXPECT_EQ(resumed.role, mesh::Role::client);
  EXPECT_EQ(resumed.wants, now.wants);
  EXPECT_EQ(resumed.assigned_at_start, "");
}

// They came back after they were removed from the file.
TEST(StartRecord, ModelsOfAFileOfSettingsAreNotKept) {
  auto options = joined();
  options.wants_of_start = false;
  EXPECT_EQ(record_of(options), StartRecord{.worker = true});
}

TEST(StartRecord, ADamagedFileIsTold) {
  const mesh::TestFolder folder;
  const auto file = folder.path() / kStartFile;
  std::ofstream(file) << "{";
  log::set_level(log::Level::warning);
  EXPECT_EQ(read_start(folder.path()), std::nullopt);
  log::set_level(log::Level::info);
  ASSERT_FALSE(log::recent().empty());
  EXPECT_THAT(log::recent().back(),
              testing::HasSubstr(file.native() + " is damaged: the role and the models that this node joined with are "
                                                 "unknown; set mesh_role and mesh_models"));
}

TEST(StartRecord, TextsThatMakeNoSenseAreNone) {
  for (const auto* text : {"", "{", "[]", R"({"version":2,"worker":true})"}) EXPECT_EQ(parse_start(text), std::nullopt);
  EXPECT_EQ(parse_start(R"({"version":1,"worker":7,"models":[3,{}]})"), StartRecord());
}

}  // namespace
}  // namespace corral::fleet
