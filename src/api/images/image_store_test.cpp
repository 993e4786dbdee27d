#include "api/images/image_store.h"

#include <gtest/gtest.h>

#include "async/loop.h"

namespace corral::api {
namespace {

class ImageStoreTest : public testing::Test {
 protected:
  std::string keep(std::size_t bytes, std::uint64_t limit = 1'000) {
    auto spool = std::make_shared<http::Spool>(room_);
    EXPECT_TRUE(async::run_blocking(loop_, spool->append(std::string(bytes, 'x'))));
    EXPECT_TRUE(async::run_blocking(loop_, spool->finish()));
    return store_.keep({"png", std::move(spool)}, limit, now_);
  }
  bool has(const std::string& name) { return store_.find(name, now_).has_value(); }

  async::Loop loop_;
  http::SpoolRoom room_{testing::TempDir(), 0, nullptr};
  ImageStore store_;
  MonoTime now_{};
};

TEST_F(ImageStoreTest, AnImageIsKeptForAnHourUnderANameThatNobodyGuesses) {
  const auto one = keep(10), other = keep(10);
  EXPECT_NE(one, other);
  EXPECT_EQ(one.size(), 44u);
  EXPECT_TRUE(one.ends_with(".png"));
  EXPECT_EQ(store_.find(one, now_)->bytes->size(), 10u);
  EXPECT_FALSE(has("x.png"));
  EXPECT_FALSE(has(""));
  now_ += ImageStore::kTime - Millis(1);
  EXPECT_TRUE(has(one));
  now_ += Millis(1);
  EXPECT_FALSE(has(one));
}

TEST_F(ImageStoreTest, OlderImagesGoForNewerOnes) {
  const auto first = keep(600), second = keep(600);
  EXPECT_FALSE(has(first));
  EXPECT_TRUE(has(second));
  EXPECT_FALSE(has(keep(2'000))) << "larger than the limit";
}

}  // namespace
}  // namespace corral::api
