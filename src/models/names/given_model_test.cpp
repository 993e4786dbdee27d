#include "models/names/given_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/gguf/gguf_test_writer.h"
#include "models/registry.h"
#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GivenModel, IsTheOnlyOneUnderItsNames) {
  const TempDir dir;
  GgufWriter::model("llama").save(dir / "given.gguf");
  GgufWriter::model("llama").save(dir / "other.gguf");
  RegistryOptions options{.models_dirs = {dir / "other.gguf"}, .hub_cache = {}};
  options.given = GivenModel{dir / "given.gguf", {"mine", "also"}, ModelType::embedding, {"small"}};
  const auto catalog = scan(options, nullptr).catalog;
  ASSERT_EQ(catalog->models().size(), 1u);
  EXPECT_EQ(catalog->models().front()->name.value(), "mine");
  EXPECT_EQ(catalog->models().front()->type, ModelType::embedding);
  EXPECT_THAT(catalog->models().front()->declared.names, ElementsAre("mine", "also"));
  EXPECT_THAT(catalog->models().front()->declared.tags, ElementsAre("small"));
  for (const auto* name : {"mine", "also", "given"}) EXPECT_TRUE(catalog->find(name)) << name;
  EXPECT_FALSE(catalog->find("other"));
}

TEST(GivenModel, WithoutNamesItIsCalledLikeItsFile) {
  const TempDir dir;
  GgufWriter::model("llama").save(dir / "given.gguf");
  RegistryOptions options;
  options.given = GivenModel{dir / "given.gguf"};
  EXPECT_TRUE(scan(options, nullptr).catalog->find("given"));
}

TEST(GivenModel, WithoutAFileThereIsNone) {
  const TempDir dir;
  GgufWriter::model("llama").save(dir / "other.gguf");
  RegistryOptions options{.models_dirs = {dir.path()}, .hub_cache = {}};
  options.given = GivenModel();
  const auto catalog = scan(options, nullptr).catalog;
  EXPECT_THAT(catalog->models(), IsEmpty());
  EXPECT_THAT(catalog->problems(), IsEmpty());
}

TEST(GivenModel, AFileThatIsNoneIsAProblem) {
  const TempDir dir;
  RegistryOptions options;
  options.given = GivenModel{dir / "gone.gguf"};
  const auto catalog = scan(options, nullptr).catalog;
  EXPECT_THAT(catalog->models(), IsEmpty());
  EXPECT_EQ(catalog->problems().size(), 1u);
}

TEST(GivenModel, TakesTheProjectorBesideIt) {
  const TempDir dir;
  const auto projector = GgufWriter::model("clip").flag("clip.has_vision_encoder", true);
  GgufWriter::model("llama").save(dir / "see-2b-Q4_0.gguf");
  GgufWriter(projector).save(dir / "mmproj-F16.gguf");
  RegistryOptions options;
  options.given = GivenModel{dir / "see-2b-Q4_0.gguf"};
  EXPECT_EQ(scan(options, nullptr).catalog->models().front()->mmproj, dir / "mmproj-F16.gguf");
  GgufWriter::model("llama").save(dir / "other.gguf");
  EXPECT_TRUE(scan(options, nullptr).catalog->models().front()->mmproj.empty()) << "it may belong to the other one";
  GgufWriter(projector).save(dir / "mmproj-see-2b-F16.gguf");
  EXPECT_EQ(scan(options, nullptr).catalog->models().front()->mmproj, dir / "mmproj-see-2b-F16.gguf");
}

TEST(GivenModel, OfASetAllFiles) {
  EXPECT_THAT(files_of_set("/m/big-00001-of-00002.gguf"),
              ElementsAre("/m/big-00001-of-00002.gguf", "/m/big-00002-of-00002.gguf"));
  EXPECT_THAT(files_of_set("/m/small.gguf"), ElementsAre("/m/small.gguf"));
  EXPECT_EQ(files_of_set("/m/x-00001-of-99999999.gguf").size(), 1u);
}

}  // namespace
}  // namespace corral::models
