#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <chat-peg-parser.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_server/templates/parser_spec.h"
#include "engine_server/test_support.h"

namespace corral::engine_server {
namespace {

// The rules of an answer may not fit what is gone on with: once that threw out of a running stream.
TEST(ChatParser, ABeginningThatFitsNoRuleIsToldAtTheEnd) {
  auto spec = std::make_shared<ParserSpec>();
  spec->params.parser = build_chat_peg_parser([](common_chat_peg_builder& p) { return p.literal("<only>") + p.end(); });
  spec->params.generation_prompt = "begun";
  spec->params.is_continuation = true;
  EXPECT_THROW(common_chat_parse("", true, spec->params), std::exception) << "else this test is of no use";
  for (const bool stream : {true, false}) {
    ChatParser parser(spec, stream);
    std::vector<protocol::ChatDelta> deltas;
    parser.push("more", deltas);
    const auto read = parser.finish(deltas, false);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, testing::HasSubstr("cannot be parsed"));
    EXPECT_TRUE(deltas.empty());
  }
}

// The whole answer was read for each piece: 256 KiB of a tool call came to 8 GiB.
TEST(ChatParser, ReadsNoMoreThanGrowsWithTheAnswer) {
  auto spec = std::make_shared<ParserSpec>();
  spec->has_tools = true;
  spec->params.parser = build_chat_peg_parser([](common_chat_peg_builder& p) { return p.content(p.rest()) + p.end(); });
  ChatParser parser(spec, true);
  std::vector<protocol::ChatDelta> deltas;
  std::size_t emitted = 0, total = 0, longest_wait = 0;
  const auto take = [&] {
    for (const auto& delta : deltas) emitted += delta.content.size();
    deltas.clear();
  };
  for (int i = 0; i < 64 * 1024; ++i) {
    parser.push("{\"a\"", deltas);
    total += 4;
    take();
    if (total <= 4096) EXPECT_EQ(emitted, total) << "short answers come piece by piece";
    longest_wait = std::max(longest_wait, total - emitted);
  }
  ASSERT_TRUE(parser.finish(deltas));
  take();
  EXPECT_EQ(emitted, total);
  EXPECT_LT(parser.read_bytes(), (4u << 20) + 129 * total + total);
  EXPECT_LT(longest_wait, total / 100);
}

struct Parts {
  std::string content, reasoning, calls, error;
  bool operator==(const Parts&) const = default;
};

void PrintTo(const Parts& parts, std::ostream* out) {
  *out << "content «" << parts.content << "», reasoning «" << parts.reasoning << "», calls «" << parts.calls
       << "», error «" << parts.error << "»";
}

// As the client of an answer that isn't streamed gets it.
Parts whole(const std::shared_ptr<const ParserSpec>& spec, std::string_view answer, bool cut_off = false) {
  ChatParser parser(spec, false);
  parser.append(answer);
  std::vector<protocol::ChatDelta> deltas;
  Parts parts;
  if (const auto read = parser.finish(deltas, cut_off); !read) {
    parts.error = "unreadable";
    return parts;
  }
  parts.content = parser.message().content;
  parts.reasoning = parser.message().reasoning_content;
  for (const auto& call : parser.message().tool_calls) parts.calls += call.name + call.arguments + ";";
  return parts;
}

// What the deltas of a stream add up to.
Parts streamed(const std::shared_ptr<const ParserSpec>& spec, const std::vector<std::string_view>& pieces,
               bool cut_off = false) {
  ChatParser parser(spec, true);
  std::vector<protocol::ChatDelta> deltas;
  for (const auto piece : pieces) parser.push(piece, deltas);
  Parts parts;
  if (const auto read = parser.finish(deltas, cut_off); !read) parts.error = "unreadable";
  std::vector<std::string> calls;
  for (const auto& delta : deltas) {
    parts.content += delta.content;
    parts.reasoning += delta.reasoning_content;
    if (!delta.tool_index) continue;
    if (calls.size() <= *delta.tool_index) calls.resize(*delta.tool_index + 1);
    calls[*delta.tool_index] += delta.tool.name + delta.tool.arguments;
  }
  for (const auto& call : calls) parts.calls += call + ";";
  return parts;
}

std::vector<std::string_view> in_pieces_of(std::size_t bytes, std::string_view text) {
  std::vector<std::string_view> pieces;
  for (; !text.empty(); text.remove_prefix(pieces.back().size())) pieces.push_back(text.substr(0, bytes));
  return pieces;
}

using Build = common_peg_parser (*)(common_chat_peg_builder&);

struct Format {
  std::string name;
  Build build;
  std::vector<std::string> answers;
};

// The kinds of rules that the formats of models consist of.
const Format kFormats[] = {
    {"plain",
     [](common_chat_peg_builder& p) { return p.content(p.rest()) + p.end(); },
     {"Just a text [1] <b> {x} ```c\nint a;\n``` \n", "日本語 é 😀 x", " \n", "a"}},
    {"JSON, perhaps in a fence",
     [](common_chat_peg_builder& p) {
       const auto json = p.rule("response-format", p.content(p.json()));
       return p.choice({p.literal("```json") + p.space() + json + p.space() + p.literal("```"),
                        p.space() + json + p.space()}) +
              p.end();
     },
     {R"({"a": false})", "```json\n{\"a\": false}\n```", "```json{\"a\":[1,\"é\\u00e9\\n`\"]}```",
      " {\"a\": \"``` b\"} \n"}},
    {"reasoning, then JSON in a fence",
     [](common_chat_peg_builder& p) {
       return p.optional("[THINK]" + p.reasoning(p.until("[/THINK]")) + "[/THINK]")
              << "```json" << p.content(p.json()) << "```";
     },
     {"[THINK]Hm, [1] is\n\nit 日本?[/THINK]\n```json\n{\"a\": [true, 1]}\n```", "```json {\"a\": 1} ```"}},
    {"content in tags",
     [](common_chat_peg_builder& p) {
       return p.content(p.until("<say>")) + "<say>" + p.content(p.until("</say>")) + "</say>" + p.end();
     },
     {"before<say>some words, 1 < 2</say>", "<say>x</say>"}},
    {"messages",
     [](common_chat_peg_builder& p) {
       const auto text = p.rule("text", p.until("<|end|>"));
       const auto analysis = p.rule("analysis", "<|a|>" + p.reasoning(text) + "<|end|>");
       const auto preamble = p.rule("preamble", "<|p|>" + p.content(text) + "<|end|>");
       const auto note = p.rule("note", "<|n|>" + text + "<|end|>");
       return p.zero_or_more(analysis | preamble | note) + p.optional("<|f|>" + p.content(text)) +
              p.optional(p.literal("<|end|>"));
     },
     {"<|a|>think < so<|end|><|p|>ok<|end|><|n|>ok, ok<|end|><|f|>the answer<|end|>", "<|f|>short",
      "<|p|>aa<|end|><|n|>aaaa<|end|><|f|>aa"}},
    {"reasoning that ends with words",
     [](common_chat_peg_builder& p) {
       return p.reasoning(p.until_one_of({"\n\nSo", "STOP"})) + p.choice({p.literal("\n\nSo"), p.literal("STOP")}) +
              p.content(p.rest()) + p.end();
     },
     {"It is\n\nhard. STO SS\n\nSo it is.\n\nSo", "aSTOPb"}},
    {"a delimiter that repeats itself",
     [](common_chat_peg_builder& p) { return p.content(p.until("aaab")) + "aaab" + p.reasoning(p.rest()); },
     {"xaaaaaab yes", "aaabaaab"}},
};

std::shared_ptr<const ParserSpec> spec_of(const Format& format) {
  auto spec = std::make_shared<ParserSpec>();
  spec->params.parser = build_chat_peg_parser(format.build);
  return spec;
}

// Streams of JSON ended with the fence that belongs to the format: text behind the content was appended to it unparsed.
TEST(ChatParser, AStreamAddsUpToTheWholeAnswerWhereverItIsCut) {
  for (const auto& format : kFormats) {
    const auto spec = spec_of(format);
    for (const std::string_view answer : format.answers) {
      SCOPED_TRACE(format.name + ": " + std::string(answer));
      const auto expected = whole(spec, answer);
      ASSERT_EQ(expected.error, "");
      for (std::size_t cut = 0; cut <= answer.size(); ++cut) {
        const auto head = answer.substr(0, cut), tail = answer.substr(cut);
        auto slow_head = in_pieces_of(1, head), slow_tail = in_pieces_of(1, tail);
        slow_head.push_back(tail);
        slow_tail.insert(slow_tail.begin(), head);
        ASSERT_EQ(streamed(spec, {head, tail}), expected) << cut;
        ASSERT_EQ(streamed(spec, slow_head), expected) << cut;
        ASSERT_EQ(streamed(spec, slow_tail), expected) << cut;
        ASSERT_EQ(streamed(spec, in_pieces_of(1, head), true), whole(spec, head, true)) << "ended at " << cut;
      }
    }
  }
}

// Long answers are not parsed at each piece: what was skipped may not be lost.
TEST(ChatParser, ALongStreamAddsUpToo) {
  for (const auto& format : kFormats) {
    if (format.name != "messages" && format.name != "JSON, perhaps in a fence") continue;
    const auto spec = spec_of(format);
    const std::string text = "words, `quoted` and < not, 日本語; ";
    std::string all;
    while (all.size() < 48 * 1024) all += text;
    const auto answer = format.name == "messages" ? "<|a|>" + all + "<|end|><|f|>" + all + "<|end|>"
                                                  : "```json\n{\"a\": \"" + all + "\"}\n```";
    for (const std::size_t bytes : {5, 16, 1000}) {
      EXPECT_TRUE(streamed(spec, in_pieces_of(bytes, answer)) == whole(spec, answer)) << format.name << ' ' << bytes;
    }
  }
}

// The templates that come with the source of llama.cpp, which script/bootstrap fetches.
std::vector<std::string> known_templates() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const auto root =
      cache && *cache ? std::filesystem::path(cache) : std::filesystem::path(home ? home : "/") / ".cache";
  const auto folder = root / ("corral/llama-src-" CORRAL_LLAMA_VERSION) / "models/templates";
  std::vector<std::string> all;
  if (!std::filesystem::exists(folder)) return all;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".jinja") continue;
    std::ifstream in(file.path());
    all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::ranges::sort(all);  // folders have no order
  return all;
}

// Answers in the marks of many models. A format reads some of them; the others are texts to it, or unreadable.
std::vector<std::string> marked_answers(const std::string& text) {
  std::vector<std::string> all = {text};
  const std::pair<const char*, const char*> kMarks[] = {
      {"<think>\nHm [1] é.\n</think>\n\n", ""},
      {"Hm é.</think>", ""},
      {"[THINK]Hm é.[/THINK]", ""},
      {"<|channel|>analysis<|message|>Hm é.<|end|><|start|>assistant<|channel|>final<|message|>", ""},
      {"<|channel>thought\nHm é.<channel|>", ""},
      {"<|START_THINKING|>Hm é.<|END_THINKING|><|START_RESPONSE|>", "<|END_RESPONSE|>"},
      {" to=self<|message|>Hm.<|eom|> to=user<|message|>", "<|eot|>"},
  };
  for (const auto& [before, behind] : kMarks) all.push_back(before + text + behind);
  return all;
}

// The same format without the fast path.
std::shared_ptr<const ParserSpec> always_parsed(const ParserSpec& spec) {
  auto slow = std::make_shared<ParserSpec>(spec);
  slow->has_tools = true;
  return slow;
}

// A part of the templates, so that no case takes long.
class EveryFormat : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::size_t kParts = 6;

  static void compare(const ParserSpec& spec, std::string_view answer) {
    const auto shared = std::make_shared<const ParserSpec>(spec);
    const auto expected = whole(shared, answer);
    if (!expected.error.empty()) return;
    for (std::size_t cut = 0; cut < answer.size(); ++cut) {
      auto pieces = in_pieces_of(1, answer);
      if (cut > 0) pieces = {answer.substr(0, cut), answer.substr(cut)};
      const auto got = streamed(shared, pieces);
      if (got == expected) continue;
      // Some formats take back what they read of the first bytes.
      ASSERT_EQ(got, streamed(always_parsed(spec), pieces)) << answer << " cut at " << cut;
    }
    ++compared_;
  }
  static inline std::size_t compared_ = 0;
};

TEST_P(EveryFormat, AStreamAddsUpToTheWholeAnswer) {
  const auto templates = known_templates();
  ASSERT_FALSE(templates.empty()) << "the source of llama.cpp is not in the cache: run script/bootstrap";
  const auto service = test::load("tiny-llama");
  const std::pair<const char*, const char*> kRequests[] = {
      {"", "Some words, [x] and {y}; 1 < 2.\n\nEnd ```"},
      {R"(,"json_schema":{"type":"object","properties":{"a":{"type":"boolean"}}})", "{\"a\": false}"},
      {R"(,"json_schema":{"type":"object","properties":{"a":{"type":"boolean"}}})", "```json\n{\"a\": false}\n```"},
      {R"(,"reasoning_format":"none")", "Some words, [x] and {y}; 1 < 2.\n\nEnd"},
      {R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])",
       "Yes.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"},
  };
  compared_ = 0;
  for (auto i = GetParam(); i < templates.size(); i += kParts) {
    const auto chat_template = ChatTemplate::load(service->model(), true, templates[i]);
    if (!chat_template) continue;
    for (const auto& [more, text] : kRequests) {
      const auto request =
          protocol::parse_chat_request(std::string(R"({"messages":[{"role":"user","content":"hello"}])") + more + "}");
      ASSERT_TRUE(request);
      const auto rendered = (*chat_template)->render(*request);
      if (!rendered) continue;
      SCOPED_TRACE(more + (" in " + templates[i].substr(0, 300)));
      for (const auto& answer : marked_answers(text)) compare(*rendered->parser, answer);
    }
  }
  EXPECT_GT(compared_, 50u);
}

INSTANTIATE_TEST_SUITE_P(Templates, EveryFormat, testing::Range(std::size_t(0), std::size_t(6)));

}  // namespace
}  // namespace corral::engine_server
