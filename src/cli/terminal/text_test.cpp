// Formatting, tables, addresses, what the wire brings.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/errors.h"
#include "cli/server/address.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/format.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

namespace corral::cli {
namespace {

TEST(Format, Durations) {
  EXPECT_EQ(human_duration(Millis(-5)), "0 ms");
  EXPECT_EQ(human_duration(Millis(250)), "250 ms");
  EXPECT_EQ(human_duration(Millis(1'250)), "1.2 s");
  EXPECT_EQ(human_duration(Millis(90'000)), "90 s");
  EXPECT_EQ(human_duration(Millis(600'000)), "10 min");
  EXPECT_EQ(human_duration(Millis(7'200'000)), "2 h");
  EXPECT_EQ(human_duration(Millis(864'000'000)), "10 d");
}

TEST(Text, IsCutBetweenCharacters) {
  EXPECT_EQ(shorten("grün", 4), "grün");
  EXPECT_EQ(shorten("grüner", 4), "grü…");
  EXPECT_EQ(shorten("abc", 1), "…");
  EXPECT_EQ(display_width("grün"), 4u);
}

TEST(Text, WidthIsThatOfTheTerminal) {
  EXPECT_EQ(display_width("模型"), 4u);
  EXPECT_EQ(display_width("\xF0\x9F\x98\x80"), 2u);  // an emoji
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);         // e and a combining accent
  EXPECT_EQ(display_width("a\xFFz"), 3u);
  EXPECT_EQ(shorten("模型模型", 5), "模型…");
  EXPECT_EQ(first_columns("模型", 3), "模");
}

class TableTest : public ::testing::Test {
 protected:
  TableTest() {
    terminal_.out_tty = true;
    table_.add({"tiny-llama", "llm", "732 KiB", "loaded"});
    table_.add({"organisation/a-long-name-GGUF:Q4_K_M", "embedding", "18 GiB", "unloaded"});
  }
  std::string printed() {
    out_.str("");
    err_.str("");
    table_.print(terminal_);
    return out_.str();
  }

  std::ostringstream out_, err_;
  Terminal terminal_{out_, err_};
  Table table_{{{"NAME"}, {"TYPE", Align::left, 1}, {"SIZE", Align::right, 2}, {"STATE"}}};
};

constexpr const char* kWholeTable =
    "NAME                                  TYPE          SIZE  STATE\n"
    "tiny-llama                            llm        732 KiB  loaded\n"
    "organisation/a-long-name-GGUF:Q4_K_M  embedding   18 GiB  unloaded\n";

TEST_F(TableTest, ANarrowTerminalGetsFewerColumns) {
  EXPECT_EQ(printed(), kWholeTable);
  EXPECT_EQ(err_.str(), "");
  terminal_.width = 60;
  EXPECT_EQ(printed(),
            "NAME                                  TYPE       STATE\n"
            "tiny-llama                            llm        loaded\n"
            "organisation/a-long-name-GGUF:Q4_K_M  embedding  unloaded\n");
  EXPECT_EQ(err_.str(), "Not shown: SIZE (--wide shows all)\n");
}

TEST_F(TableTest, ALongNameHasALineOfItsOwn) {
  terminal_.width = 40;
  EXPECT_EQ(printed(),
            "NAME                            STATE\n"
            "tiny-llama                      loaded\n"
            "organisation/a-long-name-GGUF:Q4_K_M\n"
            "                                unloaded\n");
  EXPECT_EQ(err_.str(), "Not shown: SIZE, TYPE (--wide shows all)\n");
}

TEST_F(TableTest, PipesAndWideTablesAreWhole) {
  terminal_.width = 40;
  terminal_.tables.wide = true;
  EXPECT_EQ(printed(), kWholeTable);
  terminal_.tables.wide = false;
  terminal_.out_tty = false;
  EXPECT_EQ(printed(), kWholeTable);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(TableTest, OnlyTheRequestedColumns) {
  terminal_.tables.columns = {"size", "Name", "nope"};
  EXPECT_EQ(printed(),
            "   SIZE  NAME\n"
            "732 KiB  tiny-llama\n"
            " 18 GiB  organisation/a-long-name-GGUF:Q4_K_M\n");
  EXPECT_EQ(err_.str(), "warning: no column 'nope': there are name, type, size, state\n");
}

TEST_F(TableTest, NoLineOfShortNamesIsTooLong) {
  Table table({{"NODE"}, {"NOTE", Align::left, 1}, {"WHY"}});
  table.add({"模型模型", "", "it has too little memory, and the link to it is down since this morning"});
  for (std::size_t width = 40; width <= 200; ++width) {
    terminal_.width = width;
    out_.str("");
    table.print(terminal_);
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width) << line;
  }
  EXPECT_EQ(err_.str(), "");  // a column without text is not missed
}

TEST(Text, ControlCharactersGoAndTextStays) {
  EXPECT_EQ(printable("a\x1b[0mb\r\n\tü\x7f\xc2\x9b"), "a[0mb\n\tü");
  EXPECT_EQ(printable("\xc2"), "\xc2");
}

TEST(Text, ColourOnlyOnRequest) {
  std::ostringstream out;
  Terminal terminal{out, out};
  EXPECT_EQ(terminal.paint(Style::bold, "x"), "x");
  terminal.colour = true;
  EXPECT_EQ(terminal.paint(Style::bold, "x"), "\x1b[1mx\x1b[0m");
}

TEST(Address, Urls) {
  EXPECT_EQ(parse_url("http://a:1")->url(), "http://a:1");
  EXPECT_EQ(parse_url("http://a")->port, 80);
  EXPECT_EQ(parse_url("localhost:8000")->url(), "http://localhost:8000");
  EXPECT_EQ(parse_url("http://a:1/api/v1/")->prefix, "");
  EXPECT_EQ(parse_url("http://a:1/v1")->prefix, "");
  EXPECT_EQ(parse_url("http://a:1/corral/v1")->prefix, "/corral");
  EXPECT_EQ(parse_url("http://[::1]:1")->host, "::1");
  EXPECT_EQ(parse_url("http://[::1]")->authority(), "[::1]:80");
  for (const char* bad :
       {"https://a", "ftp://a", "http://", "http://a:0", "http://a:x", "http://a:70000", "http://u@a", ""}) {
    const auto address = parse_url(bad);
    ASSERT_FALSE(address) << bad;
    EXPECT_EQ(address.error().code, errc::usage);
  }
}

TEST(Wire, ErrorsInEveryEnvelope) {
  EXPECT_EQ(error_in(R"({"error":{"message":"a"}})"), "a");
  EXPECT_EQ(error_in(R"({"error":"b"})"), "b");
  EXPECT_EQ(error_in(R"({"error":{"code":1}})"), R"({"code":1})");
  EXPECT_EQ(error_in(R"({"error":null})"), std::nullopt);
  EXPECT_EQ(error_in(R"({"x":1})"), std::nullopt);
  EXPECT_EQ(error_in("[1"), std::nullopt);
}

TEST(Wire, QuantisationFromTheName) {
  const auto in = [](const std::string& name) { return parse_model(R"({"id":")" + name + R"("})")->quantization; };
  EXPECT_EQ(in("org/repo:Q4_K_M"), "Q4_K_M");
  EXPECT_EQ(in("model-q8_0.gguf"), "Q8_0");
  EXPECT_EQ(in("model.IQ2_XS"), "IQ2_XS");
  EXPECT_EQ(in("model-bf16"), "BF16");
  EXPECT_EQ(in("qwen3"), "");
  EXPECT_EQ(in("tiny-qwen3"), "");
  EXPECT_EQ(in(""), "");
}

TEST(Wire, StrangeTypesAreIgnored) {
  const auto health =
      parse_health(R"({"version":1,"all_models_loaded":[{"model_name":2,"last_use":1e300,"memory_bytes":-1}],
    "max_models":[],"pinned_models":{"llm":"x"},"loading":"no","load_queue":{}})");
  ASSERT_TRUE(health);
  ASSERT_EQ(health->loaded.size(), 1u);
  EXPECT_EQ(health->loaded[0].last_use, 0);
  EXPECT_EQ(health->loaded[0].memory, std::nullopt);
  EXPECT_TRUE(health->max_models.empty());
}

TEST(ExitCodes, OneRowEach) {
  EXPECT_EQ(exit_code_of(Error(errc::usage, "")), kExitUsage);
  EXPECT_EQ(exit_code_of(Error(errc::no_server, "")), kExitNoServer);
  EXPECT_EQ(exit_code_of(Error(errc::request_failed, "")), kExitFailed);
  EXPECT_EQ(exit_code_of(Error(errc::bad_answer, "")), kExitFailed);
  EXPECT_EQ(exit_code_of(Error(errc::interrupted, "")), kExitInterrupted);
}

}  // namespace
}  // namespace corral::cli
