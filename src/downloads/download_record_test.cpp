#include "downloads/download_record.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "downloads/errors.h"

namespace corral::downloads {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(DownloadRecord, ComesBackAsItWas) {
  const std::string oid(64, 'a');
  std::vector<EarlierDownload> all(2);
  all[0] = {.name = "org/repo", .paused = true, .repo = "org/repo"};
  all[0].files = {{.path = "q/x.gguf", .size = 5, .oid = oid}};
  all[1] = {.name = "org/other", .error = Error(make_error_code(errc::disk_full), "the disk is full")};
  const auto read = read_record(write_record(all));
  ASSERT_THAT(read, SizeIs(2));
  EXPECT_EQ(read[0].name, "org/repo");
  EXPECT_TRUE(read[0].paused);
  EXPECT_EQ(read[0].repo, "org/repo");
  ASSERT_THAT(read[0].files, SizeIs(1));
  EXPECT_EQ(read[0].files[0].path, "q/x.gguf");
  EXPECT_EQ(read[0].files[0].size, 5u);
  EXPECT_EQ(read[0].files[0].oid, oid);
  EXPECT_FALSE(read[0].error);
  EXPECT_FALSE(read[1].paused);
  ASSERT_TRUE(read[1].error);
  EXPECT_EQ(read[1].error->code, errc::disk_full);
  EXPECT_EQ(read[1].error->message, "the disk is full");
}

TEST(DownloadRecord, FilesThatCouldLieAnywhereDontCount) {
  EXPECT_THAT(read_record("nonsense"), IsEmpty());
  EXPECT_THAT(read_record("[1, {}, {\"paused\":true}]"), IsEmpty());
  const auto earlier = read_record(R"([{"name":"org/repo","paused":false}])");
  ASSERT_THAT(earlier, SizeIs(1));
  EXPECT_FALSE(earlier[0].paused);
  EXPECT_THAT(earlier[0].files, IsEmpty());
  const std::string good(40, 'a');
  for (const auto& [repo, path, oid] : {std::array<std::string, 3>{"../../etc", "x", good},
                                        {"org/repo", "../x", good},
                                        {"org/repo", "x", "../../../x"},
                                        {"", "x", good}}) {
    const auto read = read_record(R"([{"name":"n","repo":")" + repo + R"(","files":[{"path":")" + path +
                                  R"(","size":1,"oid":")" + oid + R"("}]}])");
    ASSERT_THAT(read, SizeIs(1));
    EXPECT_THAT(read[0].files, IsEmpty()) << repo << path << oid;
    EXPECT_EQ(read[0].repo, "");
  }
}

}  // namespace
}  // namespace corral::downloads
