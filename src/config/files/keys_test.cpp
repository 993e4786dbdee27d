#include <fstream>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "config/errors.h"
#include "config/files/key_file.h"
#include "config/home_for_tests.h"

namespace corral::config {
namespace {

using testing::HasSubstr;

class KeysTest : public HomeForTests {
 protected:
  const std::filesystem::path path_ = home_ / "state/keys.json";

  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  NewKey create(std::string name = "", Scopes scopes = {.inference = true}) {
    auto made = create_key(path_, std::move(name), scopes, 1'700'000'000'000);
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }
};

TEST_F(KeysTest, NothingThatOpensADoorIsKept) {
  const auto made = create("laptop", {.inference = true, .admin = true});
  EXPECT_TRUE(made.text.starts_with("corral-" + made.key.id + "-"));
  EXPECT_EQ(made.text.size(), 68u);
  EXPECT_EQ(id_in(made.text), made.key.id);
  const auto secret = made.text.substr(made.text.rfind('-') + 1);
  EXPECT_THAT(text(), HasSubstr(made.key.id));
  EXPECT_THAT(text(), testing::Not(HasSubstr(secret)));
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);

  const auto keys = read_key_file(path_);
  ASSERT_TRUE(keys && *keys);
  const Key& read = (*keys)->keys.at(0);
  EXPECT_EQ(read.name, "laptop");
  EXPECT_EQ(text_of(read.scopes), "inference,admin");
  EXPECT_EQ(read.created, 1'700'000'000'000);
  EXPECT_EQ(read.digest, digest_of((*keys)->salt, made.text));
  EXPECT_NE(read.digest, digest_of("other salt", made.text));
}

TEST_F(KeysTest, OnlyTextsOfTheRightFormHaveAnIdentifier) {
  const auto key = create().text;
  for (const auto& text :
       {std::string(), key.substr(1), key + "x", "Corral" + key.substr(6), std::string(1 << 20, 'x')})
    EXPECT_FALSE(id_in(text)) << text.substr(0, 80);
}

TEST_F(KeysTest, RevokesByIdentifierOrByANameOfItsOwn) {
  const auto a = create("one"), b = create("two"), c = create("two");
  EXPECT_EQ(revoke_key(path_, a.key.id)->left, 2u);
  EXPECT_THAT(revoke_key(path_, "two").error().message, HasSubstr("2 keys have the name 'two'"));
  EXPECT_EQ(revoke_key(path_, a.key.id).error().code, errc::no_such_key);
  EXPECT_EQ(revoke_key(path_, b.key.id)->left, 1u);
  EXPECT_EQ(revoke_key(path_, "two")->key.id, c.key.id);
  const auto left = read_key_file(path_);
  ASSERT_TRUE(left && *left) << "a file without keys isn't no file";
  EXPECT_TRUE((*left)->keys.empty());
}

TEST_F(KeysTest, ChangesAtTheSameTimeAreAllKept) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([this] {
      for (int j = 0; j < 10; ++j) create();
    });
  }
  for (auto& writer : writers) writer.join();
  std::set<std::string> ids;
  const auto keys = read_key_file(path_);
  ASSERT_TRUE(keys && *keys);
  for (const auto& key : (*keys)->keys) ids.insert(key.id);
  EXPECT_EQ(ids.size(), 40u);
}

TEST_F(KeysTest, WhatCantBeReadIsAnErrorAndNeverNoKeys) {
  EXPECT_FALSE(*read_key_file(path_)) << "there is none yet";
  create();
  const auto good = text();
  for (const auto& bad : {std::string(), std::string("nonsense"), std::string("{}"), std::string(R"({"version":2})"),
                          std::string(R"({"version":1,"salt":"x","keys":[{}]})"), good.substr(0, good.size() / 2)}) {
    std::ofstream(path_) << bad;
    EXPECT_EQ(read_key_file(path_).error().code, errc::malformed_file) << bad;
    EXPECT_FALSE(create_key(path_, "", {.inference = true}, 0)) << "nothing is written over it";
  }
  std::ofstream(path_) << good;
  std::filesystem::permissions(path_, std::filesystem::perms(0622));
  EXPECT_THAT(read_key_file(path_).error().message, HasSubstr("run chmod 600"));
}

TEST_F(KeysTest, NamesAndScopesAreChecked) {
  EXPECT_FALSE(create_key(path_, std::string(65, 'x'), {.inference = true}, 0));
  EXPECT_FALSE(create_key(path_, "a\nb", {.inference = true}, 0));
  EXPECT_FALSE(create_key(path_, "\x1b[31m", {.inference = true}, 0));
  EXPECT_FALSE(parse_scopes({}));
  EXPECT_THAT(parse_scopes({"inference", "root"}).error().message, HasSubstr("unknown scope 'root'"));
  EXPECT_EQ(*parse_scopes({"admin"}), (Scopes{.inference = false, .admin = true}));
}

TEST_F(KeysTest, UsesAreKeptBesideThem) {
  const auto path = home_ / "uses.json";
  EXPECT_TRUE(read_key_uses(path).empty());
  ASSERT_TRUE(write_key_uses(path, {{"a", 5}, {"b", 1'700'000'000'000}}));
  EXPECT_EQ(read_key_uses(path), (KeyUses{{"a", 5}, {"b", 1'700'000'000'000}}));
  std::ofstream(path) << "{";
  EXPECT_TRUE(read_key_uses(path).empty());
}

}  // namespace
}  // namespace corral::config
