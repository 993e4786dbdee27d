#include "models/gguf/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/errors.h"
#include "models/gguf/gguf_test_writer.h"

namespace corral::models {
namespace {

using testing::HasSubstr;

std::string verdict_on(const std::vector<GgufWriter>& writers) {
  std::vector<std::vector<std::byte>> bytes;
  for (const auto& writer : writers) bytes.push_back(writer.bytes());
  std::vector<SuspectFile> files;
  for (std::size_t i = 0; i < bytes.size(); ++i) files.push_back({"file" + std::to_string(i), memory_source(bytes[i])});
  const auto sound = inspect_files(files);
  return sound ? "" : sound.error().message;
}

GgufWriter part(std::uint16_t number, std::uint16_t count) {
  auto writer = number == 0 ? GgufWriter::model("llama") : GgufWriter();
  writer.u16("split.no", number).u16("split.count", count);
  if (number > 0) writer.tensor("blk.weight", {32, 4});
  return writer;
}

GgufWriter projector() {
  GgufWriter writer;
  writer.text("general.architecture", "clip").text("general.type", "mmproj").tensor("v.weight", {32, 4});
  return writer;
}

TEST(Inspection, PassesModelsWithTheirPartsAndProjector) {
  EXPECT_EQ(verdict_on({GgufWriter::model("llama")}), "");
  EXPECT_EQ(verdict_on({GgufWriter::model("llama"), projector()}), "");
  EXPECT_EQ(verdict_on({part(0, 3), part(1, 3), part(2, 3)}), "");
  EXPECT_EQ(verdict_on({part(0, 2), part(1, 2), projector()}), "");
}

TEST(Inspection, NamesTheFileThatIsWrong) {
  EXPECT_THAT(verdict_on({}), HasSubstr("no files"));
  auto cut = GgufWriter::model("llama");
  cut.missing_data = 100;
  EXPECT_THAT(verdict_on({cut}), HasSubstr("'file0'"));
  auto absurd = GgufWriter::model("llama");
  absurd.extra_pairs = 1ULL << 60;
  EXPECT_THAT(verdict_on({absurd}), HasSubstr("'file0'"));
  EXPECT_THAT(verdict_on({projector()}), HasSubstr("'file0' is not a model but a projector"));
  EXPECT_THAT(verdict_on({GgufWriter::model("llama"), GgufWriter::model("llama")}),
              HasSubstr("'file1' is not a projector"));
  EXPECT_THAT(verdict_on({part(1, 2), part(0, 2)}), HasSubstr("'file0'"));
  EXPECT_THAT(verdict_on({part(0, 2)}), HasSubstr("2, but there are 1 files"));
  EXPECT_THAT(verdict_on({part(0, 3), part(2, 3), part(1, 3)}), HasSubstr("'file1' is part 3 of 3, expected part 2"));
  EXPECT_THAT(verdict_on({GgufWriter::model("llama"), projector(), projector()}), HasSubstr("there are 3 files"));
}

}  // namespace
}  // namespace corral::models
