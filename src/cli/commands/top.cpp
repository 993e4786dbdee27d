// A page of models in memory, memory and requests, drawn again once a second until Ctrl-C. Without a terminal, once.
#include <sstream>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/commands/ps.h"
#include "cli/commands/requests.h"
#include "cli/errors.h"
#include "cli/server/memory_wire.h"
#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

constexpr Millis kBetweenPictures{1'000};

// The other screen of the terminal, so that the end leaves none of the pages behind. Lines that are too long are cut.
class FullScreen {
 public:
  explicit FullScreen(const Terminal& terminal) : terminal_(terminal) {
    terminal_.out << "\x1b[?1049h\x1b[?7l\x1b[?25l";
  }
  ~FullScreen() { terminal_.out << "\x1b[?25h\x1b[?7h\x1b[?1049l" << std::flush; }
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // Without a moment at which the screen is empty.
  void show(const std::string& page) {
    std::istringstream lines(page);
    std::string picture = "\x1b[H";
    std::size_t drawn = 0;
    for (std::string line; drawn < terminal_.height && std::getline(lines, line); ++drawn)
      picture += (drawn > 0 ? "\r\n" : "") + line + "\x1b[K";
    terminal_.out << picture << "\x1b[J" << std::flush;
  }

 private:
  const Terminal& terminal_;
};

struct TopAnswers {
  std::string health, memory, requests;
};

Result<TopAnswers> ask_for_page(CommandContext& context) {
  TopAnswers answers;
  for (auto [path, text] : {std::pair("/api/v1/health", &answers.health), std::pair("/api/v1/memory", &answers.memory),
                            std::pair("/api/v1/requests", &answers.requests)}) {
    auto answer = fetch(context.api, ApiRequest::get(path));
    if (!answer) return std::unexpected(answer.error());
    *text = std::move(*answer);
  }
  return answers;
}

std::string summary(const CommandContext& context, const Health& health, const MemoryPools& pools) {
  auto text = fmt::format("corral {} at {}", health.version, context.api.url());
  for (const MemoryPool& pool : pools)
    text += fmt::format(", {} {} of {} free", pool.name, human_bytes(pool.free), human_bytes(pool.total));
  return printable(text);
}

// Into `terminal`, with both kinds of output.
Result<> print_page(const CommandContext& context, const TopAnswers& answers, const Terminal& terminal) {
  const auto health = parse_health(answers.health);
  if (!health) return std::unexpected(health.error());
  const auto pools = parse_memory(answers.memory);
  if (!pools) return std::unexpected(pools.error());
  const auto requests = parse_requests(answers.requests);
  if (!requests) return std::unexpected(requests.error());
  terminal.out << summary(context, *health, *pools) << "\n\n";
  print_health(terminal, context.clock, *health);
  if (!requests->empty()) terminal.out << '\n';
  print_requests(terminal, *requests);
  return {};
}

Result<int> watch_page(CommandContext& context) {
  FullScreen screen(context.terminal);
  while (true) {
    const auto answers = ask_for_page(context);
    const auto failure = [&](const Error& error) -> Result<int> {
      if (error.code == errc::interrupted) return kExitOk;
      return std::unexpected(error);
    };
    if (!answers) return failure(answers.error());
    std::ostringstream page;
    Terminal drawing{page, page};
    drawing.out_tty = true;
    drawing.colour = context.terminal.colour;
    drawing.width = context.terminal.width;
    if (const auto printed = print_page(context, *answers, drawing); !printed) return failure(printed.error());
    screen.show(page.str());
    if (const auto paused = context.api.pause(kBetweenPictures); !paused) return failure(paused.error());
  }
}

Result<int> top(CommandContext& context) {
  if (context.terminal.out_tty && !context.json) return watch_page(context);
  const auto answers = ask_for_page(context);
  if (!answers) return std::unexpected(answers.error());
  if (context.json) {
    for (const auto& text : {answers->health, answers->memory, answers->requests}) print_json(context, text);
    return kExitOk;
  }
  const auto printed = print_page(context, *answers, context.terminal);
  if (!printed) return std::unexpected(printed.error());
  return kExitOk;
}

}  // namespace

Action declare_top(CLI::App&) {
  return [](CommandContext& context) { return top(context); };
}

}  // namespace corral::cli
