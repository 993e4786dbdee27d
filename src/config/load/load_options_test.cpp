#include "config/load/load_options.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/options/close_keys.h"

namespace corral::config {
namespace {

// A value that each kind can be, other than the one before it.
json::Value some_value(const LoadOption& option) {
  LoadOptions scratch;
  for (const json::Value& value :
       {json::Value(2), json::Value(true), json::Value("x"), json::Value(json::Array{"x", "y"})}) {
    if (read(option, value, scratch)) return value;
  }
  ADD_FAILURE() << option.key;
  return nullptr;
}

TEST(LoadOptionTable, RowsAreCompleteAndComeBackFromJson) {
  std::set<std::string_view> keys;
  json::Object object;
  for (const auto& option : load_options()) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_EQ(find_load_option(option.key), &option);
    EXPECT_TRUE(option.internal || !option.help.empty()) << option.key;
    object[option.key] = some_value(option);
  }
  const auto options = read_load_options(object);
  std::string text;
  json::Writer out(text);
  write_members(out.begin_object(), options, Members::all);
  out.end_object();
  EXPECT_EQ(json::parse(text).value(), json::Value(object));
  EXPECT_EQ(merge(LoadOptions(), options), options);
  EXPECT_EQ(merge(options, LoadOptions()), options);
  for (const auto& option : load_options()) {
    auto changed = options;
    unset(option, changed);
    EXPECT_FALSE(is_set(option, changed));
    EXPECT_EQ(fingerprint(changed) != fingerprint(options), option.reloads) << option.key;
  }
}

TEST(TensorSplit, SharesOfGpus) {
  EXPECT_EQ(parse_tensor_split("3,1").value(), (std::vector<float>{3, 1}));
  EXPECT_EQ(parse_tensor_split("0.5,0,0.5").value(), (std::vector<float>{0.5F, 0, 0.5F}));
  EXPECT_EQ(parse_tensor_split("").value(), std::vector<float>());
  const std::string many = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
  for (const std::string wrong :
       {"a", "1,", ",1", "1,,1", "-1,2", "0", "0,0", "inf", "nan", "1e39", "1 ,1", many.c_str()}) {
    const auto shares = parse_tensor_split(wrong);
    EXPECT_FALSE(shares) << wrong;
    if (!shares) EXPECT_EQ(shares.error().param, "tensor_split");
  }
  LoadOptions options;
  options.tensor_split = "none";
  EXPECT_EQ(check(options).error().param, "tensor_split");
}

TEST(ContextOfRequest, IsAPartOfTheContextIfThatIsNotUnified) {
  LoadOptions options;
  EXPECT_EQ(context_of_request(options), 0);
  options.ctx_size = 1000;
  options.parallel = 3;
  EXPECT_EQ(context_of_request(options), 1000);
  options.kv_unified = true;
  EXPECT_EQ(context_of_request(options), 1000);
  options.kv_unified = false;
  EXPECT_EQ(context_of_request(options), 512) << "333, rounded up";
  options.parallel = 1;
  EXPECT_EQ(context_of_request(options), 1000);
  options.ctx_size = -1;
  options.parallel = 3;
  EXPECT_EQ(context_of_request(options), 0);
}

TEST(LoadOptionTable, WhatTheProcessNeedNotKnowIsNotToldIt) {
  LoadOptions options;
  options.auto_evict = true;
  options.ctx_size = 1;
  std::string text;
  json::Writer out(text);
  write_members(out.begin_object(), options, Members::of_the_process);
  out.end_object();
  EXPECT_EQ(text, R"({"ctx_size":1})");
}

TEST(LoadOptionTable, ValuesOfOtherKindsAreNotTaken) {
  LoadOptions options;
  EXPECT_FALSE(read(*find_load_option("ctx_size"), "1", options));
  EXPECT_FALSE(read(*find_load_option("ctx_size"), 1.5, options));
  EXPECT_FALSE(read(*find_load_option("lora"), json::Array{1}, options));
  EXPECT_FALSE(read(*find_load_option("evict_idle_timeout"), 1e300, options));
  EXPECT_FALSE(read(*find_load_option("auto_evict"), nullptr, options));
  EXPECT_EQ(options, LoadOptions());
}

TEST(LoadOptionTable, DurationsAreSecondsInJson) {
  LoadOptions options;
  ASSERT_TRUE(read(*find_load_option("evict_idle_timeout"), 1.5, options));
  EXPECT_EQ(options.evict_idle_timeout, Millis(1500));
  EXPECT_EQ(json::serialize(to_json(*find_load_option("evict_idle_timeout"), options)), "1.5");
}

// Who checked them has sent them: an engine is told what it is to do, whatever others may ask of the server.
TEST(LoadOptionTable, ReadingIsNotChecking) {
  LoadOptions options;
  ASSERT_TRUE(read(*find_load_option("ctx_size"), 1 << 30, options));
  EXPECT_EQ(options.ctx_size, 1 << 30);
  EXPECT_FALSE(check(options));
}

TEST(CloseKeys, DashesDotsAndCapitalsDontCount) {
  const std::vector<std::string_view> known = {"ctx_size", "model", "mmap"};
  for (const auto* key : {"ctxsize", "ctxSize", "ctx-size", "ctx.size", "CTX_SIZE", "ctx_sise", "context_size"})
    EXPECT_EQ(closest_of(key, known), "ctx_size") << key;
  EXPECT_EQ(closest_of("models", known), "model");
  for (const auto& key : {std::string("steps"), std::string(), std::string(1'000'000, 'c')})
    EXPECT_EQ(closest_of(key, known), "");
}

TEST(LoadOptionTable, CheckNamesTheOption) {
  LoadOptions options;
  options.threads = 2000;
  const auto fine = check(options);
  ASSERT_FALSE(fine);
  EXPECT_EQ(fine.error().message, "'threads' must be between 0 and 1024, not 2000");
  EXPECT_EQ(fine.error().param, "threads");
}

TEST(LoadOptions, AdapterAndItsScale) {
  EXPECT_EQ(parse_lora("/a/b.gguf").path, "/a/b.gguf");
  EXPECT_EQ(parse_lora("/a/b.gguf").scale, 1);
  EXPECT_EQ(parse_lora("/a:b/c.gguf:0.25").path, "/a:b/c.gguf");
  EXPECT_EQ(parse_lora("/a:b/c.gguf:0.25").scale, 0.25f);
  EXPECT_EQ(parse_lora("x:-1.5").scale, -1.5f);
  EXPECT_EQ(parse_lora("x:1y").path, "x:1y");
  EXPECT_EQ(parse_lora("x:").path, "x:");
}

TEST(LoadOptions, FingerprintsTellOptionsApart) {
  LoadOptions a, b;
  EXPECT_EQ(fingerprint(a), fingerprint(b));
  a.ctx_size = 1;
  EXPECT_NE(fingerprint(a), fingerprint(b));
  b.parallel = 1;
  EXPECT_NE(fingerprint(a), fingerprint(b));
  EXPECT_EQ(fingerprint(merge(a, b)), fingerprint(merge(b, a)));
  b = a;
  b.lora = {"x", "y"};
  EXPECT_NE(fingerprint(a), fingerprint(b));
  a.lora = {"xy"};
  EXPECT_NE(fingerprint(a), fingerprint(b));
  for (const auto& [field, value] :
       {std::pair(&LoadOptions::draft_model, "x"), {&LoadOptions::llamacpp_backend, "x"}}) {
    LoadOptions one = a;
    one.*field = value;
    EXPECT_NE(fingerprint(one), fingerprint(a));
  }
  LoadOptions speculating = a;
  speculating.speculative = 0;
  EXPECT_NE(fingerprint(speculating), fingerprint(a));
}

}  // namespace
}  // namespace corral::config
