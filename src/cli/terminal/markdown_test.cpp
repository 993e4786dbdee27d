#include "cli/terminal/markdown.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/terminal/word_wrap.h"

namespace corral::cli {
namespace {

std::string wrapped(std::string_view text, std::size_t width) {
  std::ostringstream out;
  WordWrap wrap(out, width);
  wrap.write(text);
  wrap.end();
  return out.str();
}

TEST(WordWrap, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 80), "one two three");
  EXPECT_EQ(wrapped("one two three", 0), "one two three");
  EXPECT_EQ(wrapped("one\n\ntwo  three\n", 20), "one\n\ntwo  three\n");
}

TEST(WordWrap, AWordThatIsWiderThanTheTerminalIsWholeAndBreaksWhereTheTerminalDoes) {
  EXPECT_EQ(wrapped("a 123456789 b", 5), "a\n123456789\nb");
}

TEST(WordWrap, LaterLinesOfAParagraphAreIndented) {
  std::ostringstream out;
  WordWrap wrap(out, 8);
  wrap.write("- ");
  wrap.indent(2);
  wrap.write("one two three\nfour five six");
  wrap.end();
  EXPECT_EQ(out.str(), "- one\n  two\n  three\nfour\nfive six");
}

TEST(WordWrap, CodesHaveNoWidth) {
  std::ostringstream out;
  WordWrap wrap(out, 7);
  wrap.write("one ");
  wrap.style("<b>");
  wrap.write("two");
  wrap.style("</b>");
  wrap.write(" three");
  wrap.end();
  EXPECT_EQ(out.str(), "one <b>two</b>\nthree");
}

// Every way to cut the text gives the same output.
std::string shown(const std::string& text, std::size_t width = 80) {
  std::string whole;
  for (std::size_t piece : {text.size(), std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    std::ostringstream out;
    Markdown markdown(out, width, true);
    for (std::size_t at = 0; at < text.size(); at += piece) markdown.write(text.substr(at, piece));
    markdown.end();
    if (whole.empty()) whole = out.str();
    EXPECT_EQ(out.str(), whole) << "in pieces of " << piece;
  }
  std::string readable;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (whole[at] != '\x1b') {
      readable += whole[at];
      continue;
    }
    const auto end = whole.find('m', at);
    const auto code = whole.substr(at + 2, end - at - 2);
    readable += code == "1"    ? "<b>"
                : code == "22" ? "</>"
                : code == "2"  ? "<dim>"
                : code == "36" ? "<code>"
                               : "</code>";
    at = end;
  }
  return readable;
}

TEST(Markdown, HeadingsAndBoldText) {
  EXPECT_EQ(shown("## A title\ntext\n"), "<b>A title</>\ntext\n");
  EXPECT_EQ(shown("a **bold** b"), "a <b>bold</> b");
  EXPECT_EQ(shown("**bold**: b"), "<b>bold</>: b");
  EXPECT_EQ(shown("#tag #1"), "#tag #1");
  EXPECT_EQ(shown("####### seven"), "####### seven");
}

TEST(Markdown, MarksThatMeanNothingStay) {
  EXPECT_EQ(shown("2 ** 3, 2**3**4, a * b, *x*"), "2 ** 3, 2**3**4, a * b, *x*");
  EXPECT_EQ(shown("a **"), "a **");
  EXPECT_EQ(shown("-1\n-\n1.5\n2024 was"), "-1\n-\n1.5\n2024 was");
}

TEST(Markdown, MarksWithoutAnEndInTheirLineStay) {
  for (const std::string text : {"a **b\nc**", "Use **/*.py to match", "char **argv", "f(*args, **kwargs)", "the ` key",
                                 "**a `b` c", "a ``b` c", "a ** b **c", "`", "**"})
    EXPECT_EQ(shown(text), text);
  const std::string long_text = "**" + std::string(1'000, 'x');
  EXPECT_EQ(shown(long_text), long_text);
  EXPECT_EQ(shown("*a **b** c*"), "*a <b>b</> c*");
}

TEST(Markdown, MarksBesideAnything) {
  EXPECT_EQ(shown("这是**重点**内容"), "这是<b>重点</>内容");
  EXPECT_EQ(shown("`x`**b**`y`"), "<code>x</code><b>b</><code>y</code>");
  EXPECT_EQ(shown("**use `x` now** or **`y`**"), "<b>use <code>x</code> now</> or <b><code>y</code></>");
  EXPECT_EQ(shown("# a **b** `c`"), "<b>a b <code>c</code></>");
}

TEST(Markdown, WhatIsIndentedDeeplyIsNoHeading) { EXPECT_EQ(shown("    # comment"), "    # comment"); }

TEST(Markdown, Lists) {
  EXPECT_EQ(shown("- one two\n  * three\n10. ten ten\n", 8), "• one\n  two\n  • three\n10. ten\n    ten\n");
  EXPECT_EQ(shown("- **a**: b"), "• <b>a</>: b");
}

TEST(Markdown, Quotes) { EXPECT_EQ(shown("> a\n>b\n"), "<dim>│</> a\n<dim>│</> b\n"); }

TEST(Markdown, CodeWithinALine) {
  EXPECT_EQ(shown("call `f(**x)` now"), "call <code>f(**x)</code> now");
  EXPECT_EQ(shown("``a ` b``"), "<code>a ` b</code>");
}

TEST(Markdown, CodeBlocksAreAsTheyAre) {
  EXPECT_EQ(shown("```cpp\nint  a = b ** c;  # no title\n- x\n```\nafter", 10),
            "<dim>```cpp</></code>\n<code>int  a = b ** c;  # no title</code>\n<code>- x</code>\n<dim>```</>\nafter");
  EXPECT_EQ(shown("~~~\n```\n~~~\n"), "<dim>~~~</></code>\n<code>```</code>\n<dim>~~~</>\n");
  EXPECT_EQ(shown("```\nopen"), "<dim>```</></code>\n<code>open</code>");
}

TEST(Markdown, TablesAreNotBroken) {
  EXPECT_EQ(shown("| a long | table |\n|---|---|\n", 10), "| a long | table |\n|---|---|\n");
}

TEST(Markdown, WithoutStylesOnlyLinesAreBroken) {
  std::ostringstream out;
  Markdown markdown(out, 12, false);
  markdown.write("# A **title**\n- `one` two three\n> q\n");
  markdown.end();
  EXPECT_EQ(out.str(), "# A\n**title**\n- `one` two\n  three\n> q\n");
}

}  // namespace
}  // namespace corral::cli
