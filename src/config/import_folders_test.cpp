#include "config/import_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::config {
namespace {

using testing::ElementsAre;

TEST(ImportFolders, ProgramsAndTheirFolders) {
  EXPECT_THAT(*parse_import_folders("ollama, lmstudio=/srv/lm"),
              ElementsAre(ImportFolder{"ollama", {}}, ImportFolder{"lmstudio", "/srv/lm"}));
  EXPECT_TRUE(parse_import_folders(" ")->empty());
}

TEST(ImportFolders, WhatNobodyKnowsIsRefused) {
  for (const char* text : {"jan", "ollama=", "ollama=models", "=/x"}) {
    const auto folders = parse_import_folders(text);
    ASSERT_FALSE(folders) << text;
    EXPECT_EQ(folders.error().param, "import_folders");
  }
}

}  // namespace
}  // namespace corral::config
