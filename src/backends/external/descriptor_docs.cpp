#include <fmt/format.h>

#include "backends/external/descriptor_fields.h"
#include "backends/external/placeholders.h"

namespace corral::backends {
namespace {

constexpr std::string_view kIntro = R"(# Backends

<!-- Generated from src/backends/external. Change the tables, then run CORRAL_WRITE_PAGES=1 backends_test. -->

corral's own engine serves GGUF models. Any other program that serves models can be put under the same rules (slots, memory, pins, the
NPU, idle times, the watchdog, one repetition after a crash) by a **descriptor**: one TOML file that says how it is started, when it is
ready, and which request it takes at which path. A new server is a file and no code.

Each says how it is known to work:

- **real**: the program itself runs in corral's tests.
- **contract**: configured from its documentation, not run by us. A played program was driven by the same descriptor: a slow start, "not
  yet", a hang, a crash in the middle of an answer, the wrong port, a huge answer, a flood of words.

## Your own

Descriptors stand in `backends.d/` beside the configuration file (`~/.config/corral/backends.d/NAME.toml`), and are read at the start of
the server. One of the same recipe takes the place of a built-in one. A file that others may write is refused, as it says what is run; a
file with a mistake is named in the log with its line and key, and the rest works without it.

```toml
# ~/.config/corral/backends.d/my-server.toml
recipe = "my-server"
types = ["llm"]
program = "my-server"
command = ["{program}", "--model", "{model}", "--port", "{port}", ["--ctx", "{ctx_size}"], "{args}"]
ready = { path = "/health", status = 200, deadline = "5m" }
paths = { "chat/completions" = "/v1/chat/completions" }
```

There is no shell: each word is one argument, and what a placeholder stands for is never split. A program gets a clean environment
(PATH, HOME, locale, libraries, devices; no keys, no tokens), a process group of its own, `/dev/null` as its input and a log that is
bounded (`log/` in the state folder). It ends with the server, however that ends. Before the first request goes to a port it is checked
that the process that listens there is the one that was started.

## Models of a backend

`models.toml` beside the configuration file names models. Each says which backend serves it and what that is to load, or brings a
command of its own:

```toml
[models.chat-npu]
recipe = "flm"
checkpoint = "gemma3:4b"

[models.big]
recipe = "vllm"
checkpoint = "org/big-model"
args = ["--dtype", "half"]
ttl = 600                      # seconds unused, then it leaves memory
aliases = ["gpt-4o"]

[macros]
llama = "llama-server --port {port}"
[models.small]
cmd = "${llama} -m /srv/models/small.gguf"
```

Beside the keys below a model may have `checkpoint`, `checkpoints` (a table: `main`, `vae`, `voices`), `labels` (which decide its type:
`embeddings`, `reranking`, `transcription`, `image`, `tts`), `aliases`, `ttl` (0: it doesn't leave by itself) and `macros`. Entries of
`user_models.json` may name a `recipe` as well. GGUF files that corral has found are served by llama.cpp's own server where an entry
says `recipe = "llama-server"` and has the model's name or file as its checkpoint.

## Coming from llama-swap

The words of a model of its configuration are taken in `models.toml`, too:
`cmd`, `cmdStop`, `proxy`, `checkEndpoint`, `ttl`, `env`, `aliases`, `useModelName`, `filters` (`stripParams`, `setParams`), `macros`,
`concurrencyLimit`; so are `${PORT}`, `${MODEL_ID}` and `${env.NAME}`. Two things are otherwise: requests above the limit wait instead of
being refused, and which models are in memory together isn't configured in groups but follows from slots and memory.

## Servers that run already

A backend of kind `attach` starts nothing: requests go to its `url`. Such a model takes no slot and no memory here and is never evicted;
`corral unload` lets go of it. If nothing answers there, requests for it are 503 and nobody was evicted for them.

## Memory

What a program takes is measured once it is ready and while it runs (the proportional share of all its processes), kept in
`measured-memory.json` of the state folder, and counts for its next load. Before that the descriptor's `memory` counts. Such models can't
be downsized, only evicted.

## Keys of a descriptor
)";

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string backends_page() {
  std::string page(kIntro);
  page += "\n| key | value | without it | meaning |\n|---|---|---|---|\n";
  for (const auto& field : descriptor_fields()) {
    const auto other =
        field.synonym.empty() || field.synonym == field.key ? "" : fmt::format(" (or `{}`)", field.synonym);
    page += fmt::format("| `{}`{} | {} | {} | {}{} |\n", field.key, other, cell(field.kind), cell(field.fallback),
                        cell(field.help), field.of_models ? "" : " Not in a model's entry.");
  }
  page += "\n## Placeholders\n\n| placeholder | stands for |\n|---|---|\n";
  for (const auto& one : placeholders()) page += fmt::format("| `{{{}}}` | {} |\n", one.name, cell(one.meaning));
  page +=
      "| `{env.NAME}` | a variable of corral's own environment; no value where it isn't set |\n"
      "| `{checkpoints.NAME}` | another checkpoint of the model's entry |\n"
      "| `{request.NAME}` | of kind exec: a text or number of the request; none that looks like a flag |\n";
  page +=
      "\n## Built in\n\nThey are the files of `src/backends/descriptors/`, one for each recipe, with the page, the "
      "version and the licence that each was\nwritten from. An error of a load whose program isn't installed names the "
      "command that installs it.\n";
  return page;
}

}  // namespace corral::backends
