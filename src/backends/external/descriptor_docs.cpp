#include <fmt/format.h>

#include "backends/external/descriptor_fields.h"
#include "backends/external/placeholders.h"

namespace corral::backends {
namespace {

constexpr std::string_view kIntro = R"(# Backends

<!-- Generated from src/backends/external. Change the tables, then run CORRAL_WRITE_PAGES=1 backends_test. -->

corral's own engine serves GGUF models. A **descriptor** adds any other server program under the same rules: slots, memory, pins, the NPU,
idle timeouts, the watchdog, one retry after a crash. It is a TOML file with the start command, the readiness check, and a path for each
kind of request. A new backend needs no code.

Each descriptor has a test status:

- **real**: corral's tests run the program itself; those of `sd-cpp` where it is installed.
- **contract**: the descriptor follows the documentation; the program was not run. A simulated program tested it with a slow start, "not
  yet", a hang, a crash during a response, the wrong port, a huge response and a flood of output.

## Custom backends

Put descriptors into `backends.d/` beside the configuration file (`~/.config/corral/backends.d/NAME.toml`). The server reads them at start,
and again when they change; loaded models keep what they were started with. A descriptor replaces a built-in one of the same recipe. Files
that other users can write are rejected, because they contain commands. A file with an error changes nothing: what it said before stays. The
log, `backend_problems` of `health`, `corral status` and `corral mesh doctor` show the error with line and key.

```toml
# ~/.config/corral/backends.d/my-server.toml
recipe = "my-server"
types = ["llm"]
program = "my-server"
command = ["{program}", "--model", "{model}", "--port", "{port}", ["--ctx", "{ctx_size}"], "{args}"]
ready = { path = "/health", status = 200, deadline = "5m" }
paths = { "chat/completions" = "/v1/chat/completions" }
```

There is no shell: each string is one argument, and the value of a placeholder is never split. A program gets a clean environment (PATH,
HOME, locale, libraries, devices; no keys, no tokens), its own process group, `/dev/null` as standard input and a size-limited log (`log/`
in the state folder). Before the first request, corral checks that the started program itself listens on the port.

## End of a program

A program and everything that it has started end together: when the model is unloaded, when the program itself ends, and when the server
ends in any way, also by `kill -9`. This includes processes that left the group or the session of the program. A small process of corral's own
between the server and the program (`guardian` in `ps -e`) sees to it. What it can't reach continues to run:

- containers, and services of systemd: another program starts and holds them. Use `stop` (`docker stop NAME`), which runs at each regular
  end, and `--rm`. After `kill -9` of the server the container runs until you stop it.
- processes of another user, such as those started with `sudo`
- anything, if the guardian itself is killed with SIGKILL before its program

## Requests that hang

A request ends with an error (504 `backend_timeout`) when its program takes and sends no byte of it for `request_timeout`, 10 minutes unless
set (an hour for `sd-cpp` and `whispercpp`, which send nothing before the end). The wait for its turn or for a slow client is no part of that
time. A program of kind `exec` is killed then; a server continues, because it may still answer others. A server that doesn't respond to its
readiness check for `watchdog_timeout` while it works on requests is given up: corral kills it, or detaches it if it already ran (kind
`attach`), and its requests end or are sent once more.

A program may continue to work on a request whose client has left. `cancel = "restart"` then starts the program again, and other requests wait for it
(`sd-cpp`, which can't be interrupted). The model stays loaded, and corral records no crash.

## Models of a backend

`models.toml` beside the configuration file defines models. Each entry has the backend and its checkpoint, or its own command:

```toml
[models.chat-npu]
recipe = "flm"
checkpoint = "gemma3:4b"

[models.big]
recipe = "vllm"
checkpoint = "org/big-model"
args = ["--dtype", "half"]
ttl = 600                      # unloaded after so many idle seconds
aliases = ["gpt-4o"]

[macros]
llama = "llama-server --port {port}"
[models.small]
cmd = "${llama} -m /srv/models/small.gguf"
```

In addition to the keys below, a model may have `checkpoint`, `checkpoints` (a table: `main` and others that its command names, such as
`vae` or `voices`), `labels` (they set its type: `embeddings`, `reranking`, `transcription`, `image`, `tts`), `aliases`, `ttl` (0: no idle
timeout) and `macros`. These declare what corral can't see in a program: `context` (tokens), `tools` and `vision` (true or false). Lists show
them, and `name`, `description` and `metadata` (a table, as `meta.llamaswap`); `unlisted = true` keeps the model out of the lists. An unknown
key is ignored with a warning.

If the command of the recipe has `{model}` or `{checkpoints.main}`, the checkpoint may be the name of a model in the list (`ggml-base.en`)
instead of a file. An own `cmd` needs neither the program of the recipe nor its kind of address. Answers have the name that the client asked
for as `model`, and errors of programs have OpenAI's form.

With `recipe = "llamacpp"` corral's own engine serves the GGUF file; if the entry has keys of a program (`args`, `env`, `cmd`, ...), it is
llama.cpp's own server, as with `recipe = "llama-server"`. Entries of `user_models.json` may have a `recipe` too.

## Migration from llama-swap

`corral import llama-swap config.yaml` writes `models.toml` beside the configuration file, and names each key that has no equivalent.

`models.toml` accepts the keys of llama-swap models: `cmd`, `cmdStop`, `proxy`, `checkEndpoint`, `ttl`, `env`, `aliases`, `useModelName`,
`filters` (`stripParams`, `setParams`), `macros`, `concurrencyLimit`, `name`, `description`, `metadata`, `unlisted`, and `${PORT}`,
`${MODEL_ID}` and `${env.NAME}`; of the whole file `globalTTL`, `healthCheckTimeout` and `hooks.on_startup.preload`, whose models are loaded
at the start. Two differences: requests above the concurrency limit wait instead of being rejected, and slots and memory replace `groups`,
which have no effect (a warning says so).

| path | answer | needs |
|---|---|---|
| `GET /running` | the models in memory | any key |
| `GET /unload`, `POST /api/models/unload`, `POST /api/models/unload/MODEL` | unloads all models, or one | admin |
| `GET /logs` | the latest lines of the log | admin |
| any method, `/upstream/MODEL/PATH` | loads the model and passes the request unchanged to PATH of its program | as PATH here if that needs an inference key; otherwise admin, also for models of corral's own engine |

## Servers that already run

A backend of kind `attach` starts no process: requests go to its `url`. Such a model takes no slot and no memory, and is never evicted;
`corral unload` detaches it. If the server does not respond, requests get 503 and evict no model.

## Memory

corral measures the memory of a program when it is ready and while it runs (the proportional share of all its processes). The value is
stored in `measured-memory.json` in the state folder, and used for the next load. Before the first measurement, `memory` of the descriptor
applies. Such models can be evicted, but not downsized.

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
  page += "\n| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const auto& field : descriptor_fields()) {
    const auto other =
        field.synonym.empty() || field.synonym == field.key ? "" : fmt::format(" (or `{}`)", field.synonym);
    page += fmt::format("| `{}`{} | {} | {} | {}{} |\n", field.key, other, cell(field.kind), cell(field.fallback),
                        cell(field.help), field.of_models ? "" : " Only in a descriptor.");
  }
  page += "\n## Placeholders\n\n| placeholder | value |\n|---|---|\n";
  for (const auto& one : placeholders()) page += fmt::format("| `{{{}}}` | {} |\n", one.name, cell(one.meaning));
  page +=
      "| `{env.NAME}` | a variable of corral's own environment; no value if it is not set |\n| `{checkpoints.NAME}` | "
      "a checkpoint of the model's entry; no value without one. `main`: its file |\n| `{request.NAME}` | kind exec: a "
      "string or number of the request, "
      "unless it looks like a flag |\n";
  page +=
      "\n## Built-in descriptors\n\nThey are in `src/backends/descriptors/`, one file per recipe, each with the page, "
      "version and licence of its program. If the program is\nnot installed, the error of a load contains the command "
      "to install it.\n";
  return page;
}

}  // namespace corral::backends
